// Epoch: one step of one actor, the unit that happens-before orders. Clock: a set of epochs known
// to be complete, held as one number per line of an actor.
//
// An actor is the host or a hardware queue. A queue has two lines: Front counts the packets that
// its front-end has carried out, which complete in order; Pipe counts what runs beside it
// (dispatches and end-of-pipe events) in the order of launch, which may complete out of order.
//
// Value types.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

namespace doppel::verify {

using ActorId = uint32_t;
inline constexpr ActorId kHost = 0;

enum class Line : uint8_t { Front, Pipe };

struct Epoch {
  ActorId actor = kHost;
  Line line = Line::Front;
  uint64_t number = 0;  // from 1 on; 0: before everything

  auto operator<=>(const Epoch&) const = default;
};

class Clock {
 public:
  bool covers(const Epoch& epoch) const {
    if (epoch.number == 0) return true;
    if (epoch.actor >= times_.size()) return false;
    const Time& time = times_[epoch.actor];
    if (epoch.line == Line::Front) return time.front >= epoch.number;
    return time.pipe >= epoch.number || std::ranges::binary_search(time.beyond, epoch.number);
  }
  /// Whether every epoch of `other` is covered.
  bool covers(const Clock& other) const;

  /// The epoch is complete; on Front, so are those before it.
  void add(const Epoch& epoch);
  /// Everything on the line up to the epoch is complete.
  void add_all(const Epoch& epoch);
  void join(const Clock& other);

  bool operator==(const Clock&) const = default;

 private:
  struct Time {
    uint64_t front = 0;
    uint64_t pipe = 0;             // complete up to here
    std::vector<uint64_t> beyond;  // complete above that, ascending
    bool operator==(const Time&) const = default;
  };

  Time& time(ActorId actor);
  static void settle(Time& time);

  std::vector<Time> times_;  // by actor
};

}  // namespace doppel::verify
