// ComputeCommands and SdmaCommands: recordings for one queue, chains of verbs that end in submit().
//
//   gpu->compute().wait(done, n).memory_barrier()
//       .exec(program.kernel("saxpy"), args(x, y, 2.0f, count), grid, block)
//       .signal(done, n + 1).submit();
//
// Threads may record for one queue at the same time: what a recording shares with others before
// submit() is the queue's scratch memory alone, which grows with the kernels that need it; an AQL
// queue is idle while it grows, so that the first such recording may wait. The first error sticks:
// later verbs do nothing and submit() returns it. Programs that a recording uses stay alive until
// the queue has retired it; buffers and signals belong to the caller. A recording whose queue has
// been destroyed is refused (Unavailable). Not thread-safe by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/kernel_args.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/program.h"
#include "core/queue.h"
#include "core/signal.h"
#include "core/status.h"

namespace doppel {

/// Which of a signal's two timestamps a command stores.
enum class Timestamp : uint8_t { Start, End };

struct LaunchOptions {
  uint32_t dynamic_group_bytes = 0;  // LDS besides the kernel's own and LocalMemory arguments
  uint32_t stack_bytes = 4096;       // scratch of a work-item for kernels with a dynamic stack
};

/// What both recordings share: the queue, the submission under construction, the sticky error.
class Commands {
 public:
  /// The recording that is moved from is as one that has been submitted.
  Commands(Commands&& other) noexcept;
  Commands& operator=(Commands&& other) noexcept;

  /// The packets so far; none once submitted.
  const CommandStream& stream() const;
  /// The first error so far; InvalidArgument once submitted.
  Result<> check() const;
  bool ok() const {
    return !error_ && submission_ && !queue_lives_.expired() && submission_->commands.ok();
  }

  /// Hands the recording to its queue. Returns the first error of recording or submission. The
  /// recording is over afterwards: another submit() is InvalidArgument.
  Result<> submit();

 protected:
  explicit Commands(Queue& queue);
  Result<> check_queue() const;
  explicit Commands(Status status) : error_(std::move(status)) {}

  void fail(Status status);
  /// InvalidArgument, naming the verb, if the signal is empty.
  static Result<> check_signal(const Signal& signal, std::string_view verb);

  Queue* queue_ = nullptr;
  std::weak_ptr<const void> queue_lives_;
  std::optional<Submission> submission_;
  std::optional<Status> error_;
};

class ComputeCommands : public Commands {
 public:
  /// `queue` is a PM4 or AQL queue.
  explicit ComputeCommands(Queue& queue);
  explicit ComputeCommands(Status status) : Commands(std::move(status)) {}

  /// What follows begins once the signal's value satisfies the condition.
  ComputeCommands& wait(const Signal& signal, uint64_t value,
                        SignalCondition condition = SignalCondition::GreaterEqual);
  /// What the host and other engines wrote before is visible to what follows.
  ComputeCommands& memory_barrier();
  /// Launches a kernel on `grid` workgroups, or on `items` work-items with partial workgroups.
  ComputeCommands& exec(const Result<Kernel>& kernel, const KernelArgs& args, Dim3 grid,
                        Dim3 workgroup, const LaunchOptions& options = {});
  ComputeCommands& exec(const Result<Kernel>& kernel, const KernelArgs& args, WorkItems items,
                        Dim3 workgroup, const LaunchOptions& options = {});
  /// Stores the value once everything before has ended and its writes are visible.
  ComputeCommands& signal(const Signal& signal, uint64_t value);
  /// Stores the GPU's counter beside the signal's value once everything before has ended.
  ComputeCommands& timestamp(const Signal& signal, Timestamp which = Timestamp::Start);

 private:
  void launch(const Result<Kernel>& kernel, const KernelArgs& args, const Result<LaunchDims>& dims,
              const LaunchOptions& options);
  Result<> encode_launch(const Kernel& kernel, const KernelArgs& args, const LaunchDims& dims,
                         const LaunchOptions& options);
  void add_dispatch_packet(DispatchCommand& command, const DispatchPatch& patch,
                           uint32_t kernarg_offset);
  /// Appends PM4 packets: as they are, or behind an AQL packet that runs them.
  template <class Encode>
  void pm4(Encode encode);
};

class SdmaCommands : public Commands {
 public:
  /// `queue` is an SDMA queue.
  explicit SdmaCommands(Queue& queue);
  explicit SdmaCommands(Status status) : Commands(std::move(status)) {}

  SdmaCommands& wait(const Signal& signal, uint64_t value,
                     SignalCondition condition = SignalCondition::GreaterEqual);
  /// Copies all of `source` to the beginning of `destination`, which is at least as long.
  SdmaCommands& copy(const MemoryView& source, const MemoryView& destination);
  /// Repeats the 32-bit pattern; whole dwords.
  SdmaCommands& fill(const MemoryView& destination, uint32_t pattern);
  /// Stores dwords that the packet itself carries.
  SdmaCommands& write(const MemoryView& destination, std::span<const uint32_t> dwords);
  /// Stores the value's 32 bits: a signal that SDMA stores to stays within them. OutOfRange for a
  /// value that doesn't; one that the signal has from others (a negative one) keeps its high half.
  SdmaCommands& signal(const Signal& signal, uint64_t value);
  SdmaCommands& timestamp(const Signal& signal, Timestamp which = Timestamp::Start);
};

}  // namespace doppel
