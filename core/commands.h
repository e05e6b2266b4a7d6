// ComputeCommands and SdmaCommands: recordings for one queue, chains of verbs that end in submit().
//
//   gpu->compute().wait(done, n).memory_barrier()
//       .exec(program.kernel("saxpy"), args(x, y, 2.0f, count), grid, block)
//       .signal(done, n + 1).submit();
//
// A recording touches nothing that others share until submit(), so that threads may record for one
// queue at the same time. The first error sticks: later verbs do nothing and submit() returns it.
// Programs that a recording uses stay alive until the queue has retired it; buffers and signals
// belong to the caller. Not thread-safe by itself.
#pragma once

#include <cstdint>
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
  Commands(Commands&&) = default;
  Commands& operator=(Commands&&) = default;

  /// The packets so far. A recording that has been submitted has none: asking is a bug.
  const CommandStream& stream() const;
  /// The first error so far; InvalidArgument once submitted.
  Result<> check() const;
  bool ok() const { return !error_ && submission_ && submission_->commands.ok(); }

  /// Hands the recording to its queue. Returns the first error of recording or submission; the
  /// recording is empty afterwards.
  Result<> submit();

 protected:
  explicit Commands(Queue& queue);
  explicit Commands(Status status) : error_(std::move(status)) {}

  void fail(Status status);
  /// The first error so far, if any.
  Result<> check_signal(const Signal& signal, std::string_view verb);

  Queue* queue_ = nullptr;
  std::optional<Submission> submission_;
  std::optional<Status> error_;
};

class ComputeCommands : public Commands {
 public:
  /// `queue` is a PM4 or AQL queue.
  explicit ComputeCommands(Queue& queue) : Commands(queue) {}
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
  explicit SdmaCommands(Queue& queue) : Commands(queue) {}
  explicit SdmaCommands(Status status) : Commands(std::move(status)) {}

  SdmaCommands& wait(const Signal& signal, uint64_t value,
                     SignalCondition condition = SignalCondition::GreaterEqual);
  /// Copies all of `source` to the beginning of `destination`, which is at least as long.
  SdmaCommands& copy(const MemoryView& source, const MemoryView& destination);
  /// Repeats the 32-bit pattern; whole dwords.
  SdmaCommands& fill(const MemoryView& destination, uint32_t pattern);
  /// Stores dwords that the packet itself carries.
  SdmaCommands& write(const MemoryView& destination, std::span<const uint32_t> dwords);
  SdmaCommands& signal(const Signal& signal, uint64_t value);
  SdmaCommands& timestamp(const Signal& signal, Timestamp which = Timestamp::Start);

 private:
  Result<> check_view(const MemoryView& view, std::string_view what);
};

}  // namespace doppel
