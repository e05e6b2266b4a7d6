// Dispatcher: runs the workgroups of one dispatch (the hardware's SPI and CUs), a bounded slice of
// instructions at a time, so that queues interleave and a kernel that never ends stops nothing
// else.
//
// One dispatch at a time; a queue that overlaps dispatches owns several Dispatchers. Deterministic:
// the same dispatch with the same slices gives the same order of instructions. Not thread-safe;
// with workers > 1 it runs workgroups on its own pool and joins them before step() returns: then
// the order of workgroups is not fixed, but results of race-free kernels, counters and the fault
// that is reported (the lowest workgroup's) are those of one worker.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "emulator/dispatch/dispatch.h"
#include "emulator/fault.h"

namespace doppel::isa {
class Coverage;
}

namespace doppel::emu {

/// Wave-instructions that a dispatch may execute: half a minute of one core, so that a kernel
/// that never ends is a fault within a test's patience.
inline constexpr uint64_t kDefaultInstructionBudget = uint64_t{1} << 31;

struct DispatcherOptions {
  uint64_t instruction_budget = kDefaultInstructionBudget;
  uint32_t workers = 1;               // host threads that run workgroups
  isa::Coverage* coverage = nullptr;  // counts what is executed; nullptr: nobody
};

struct DispatchCounters {
  uint64_t workgroups = 0;
  uint64_t waves = 0;
  uint64_t wave_instructions = 0;
  uint64_t lds_out_of_range = 0;  // LDS accesses, a lane each, beyond the workgroup's allocation
};

enum class DispatchState : uint8_t { Idle, Running, Done, Faulted };

class Dispatcher {
 public:
  Dispatcher(const Clock& clock, DispatcherOptions options);
  ~Dispatcher();

  /// Takes the dispatch up. A Fault (BadDispatch and its like) if limits are broken: zero grid or
  /// workgroup, more work-items than the target allows, too much LDS, scratch missing or too small,
  /// program not executable.
  std::expected<void, Fault> start(const Dispatch& dispatch);

  /// Executes about `instructions` wave-instructions a worker. Waves that wait (barrier, sleep)
  /// cost nothing.
  DispatchState step(uint64_t instructions);

  DispatchState state() const;
  /// Set when state() is Faulted: kind, message, WaveLocation and address. The caller adds gpu,
  /// queue and packet.
  const Fault& fault() const;
  /// Since start().
  DispatchCounters counters() const;

  /// Drops the dispatch (queue destroyed or reset). State becomes Idle.
  void abandon();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel::emu
