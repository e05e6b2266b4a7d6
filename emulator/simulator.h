// Simulator: the machine room. Owns the GPUs, the virtual clock and the seeded scheduler that draws
// which runnable block (queue, engine, dispatch) steps next. Same seed and same host actions: same
// order, same clock, same memory. Not thread-safe: one thread steps it (in process the caller's,
// under the preload shim the engine thread).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/packets/packet.h"
#include "emulator/gpu.h"

namespace doppel::emu {

class Observer;
class Schedule;
struct PacketPlace;
struct QueueRef;
struct Stall;

struct SimulatorOptions {
  uint64_t seed = 1;             // of a random schedule
  Schedule* schedule = nullptr;  // instead; outlives the simulator
};

class Simulator {
 public:
  explicit Simulator(SimulatorOptions options = {});
  ~Simulator();

  Gpu& add_gpu(const GpuConfig& config);
  Gpu& gpu(uint32_t index);
  uint32_t gpu_count() const;

  /// Lets one runnable block make progress. False: nothing is runnable until the host acts.
  bool step();
  /// The host's wait has ended, and it could go on: lets a block make progress all the same, if the
  /// schedule says so. False: it is the host's turn.
  bool step_before_host();

  /// True if every queue has consumed all that was submitted to it.
  bool idle() const;

  /// Why nothing runs: one line per blocked queue, from waiter to what it waits for.
  std::string stall_report() const;

  /// The same as data: each queue that waits, and which queued packets would end its wait.
  std::vector<Stall> stalls() const;

  /// What is submitted and not yet begun, queue by queue.
  using QueuedVisitor =
      std::function<void(const QueueRef&, const packets::Packet&, const PacketPlace&)>;
  void visit_queued(const QueuedVisitor& visit) const;

  /// Tells the observer of what has been submitted up to now, though no queue has looked yet.
  void notice_submissions();

  /// From now on, `observer` is told what happens; nullptr: nobody. Not owned. It sees the queues
  /// that are created from now on, and their address spaces.
  void observe(Observer* observer);
  Observer* observer() const;

  VirtualClock& clock();
  const SimulatorOptions& options() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel::emu
