// What a packet processor tells its front-end after each packet: go on, wait, call an indirect
// buffer, skip. The front-end owns rings and IBs; the processor owns meaning.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "emulator/fault.h"
#include "emulator/memory/memory_port.h"

namespace doppel::emu {

/// The comparison of WAIT_REG_MEM.FUNCTION and POLL_REGMEM.FUNC, which share their numbers.
enum class Compare : uint8_t {
  Always = 0,
  Less = 1,
  LessEqual = 2,
  Equal = 3,
  NotEqual = 4,
  GreaterEqual = 5,
  Greater = 6,
};

/// The comparison with that number; nothing for 7, which hardware reserves.
template <class Function>
std::optional<Compare> to_compare(Function function) {
  const auto number = static_cast<uint32_t>(function);
  if (number > static_cast<uint32_t>(Compare::Greater)) return std::nullopt;
  return static_cast<Compare>(number);
}

/// "==", ">=" and so on.
std::string_view to_string(Compare compare);

/// value COMPARE reference, unsigned.
bool passes(Compare compare, uint64_t value, uint64_t reference);

/// One comparison of a word in memory: (value & mask) COMPARE reference, unsigned unless said.
struct MemoryWait {
  uint64_t va = 0;
  uint64_t reference = 0;
  uint64_t mask = 0;
  Compare compare = Compare::Always;
  bool is_64 = false;
  bool is_signed = false;  // of 64 bits
};

/// Whether the word's `value`, unmasked, ends the wait.
bool passes(const MemoryWait& wait, uint64_t value);

/// Reads the word and compares. True as well if it can't be read: repeating the packet reports why.
bool satisfied(const MemoryWait& wait, MemoryPort& port);

enum class WaitFor : uint8_t {
  Nothing,
  AnyMemory,     // one of the comparisons holds
  PipeIdle,      // all dispatches of the queue have completed
  DispatchSlot,  // one of the running dispatches has
  Scratch,       // the dispatch that uses the queue's scratch has
  EventSlot,     // an end-of-pipe event has been carried out
  Register,      // a register that nothing will change: a wait for ever
};

/// The wait of the packet that is being carried out; it is repeated once the wait is over.
class Wait {
 public:
  WaitFor what() const { return what_; }
  std::span<const MemoryWait> words() const { return {words_.data(), count_}; }

  void clear() { *this = {}; }
  void set(WaitFor what) {
    what_ = what;
    count_ = 0;
  }
  void add(const MemoryWait& word) {
    what_ = WaitFor::AnyMemory;
    words_[count_++] = word;
  }

  /// "0x7f0010 >= 5, which holds 4 (gtt 0x7f0000+0x1000 (handle 12) +0x10)", joined by " or ".
  std::string describe(MemoryPort& port) const;

 private:
  WaitFor what_ = WaitFor::Nothing;
  uint32_t count_ = 0;
  std::array<MemoryWait, 5> words_;  // an AQL barrier has five dependencies
};

enum class Next : uint8_t {
  Packet,          // done; the next packet
  Wait,            // not done: repeat it when the processor's wait() is over
  Slice,           // not done: repeat it at the next step, other queues may go first
  IndirectBuffer,  // done; go on in `ib`
  Skip,            // done; leave out the `skip` dwords behind it
};

struct Outcome {
  Next next = Next::Packet;
  bool chain = false;      // IndirectBuffer: instead of the rest of the current one
  uint32_t skip = 0;       // dwords
  uint32_t ib_dwords = 0;  //
  uint64_t ib_base = 0;
  uint64_t ns = 0;  // virtual time taken
};

using PacketResult = std::expected<Outcome, Fault>;

/// A fault with its kind and sentence; the front-end adds the place.
std::unexpected<Fault> fault(FaultKind kind, std::string message);
std::unexpected<Fault> fault(const MemoryFault& memory_fault);

}  // namespace doppel::emu
