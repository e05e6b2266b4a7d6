#include "core/commands.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/abi/hsa_aql.h"
#include "core/device.h"
#include "core/errors.h"

namespace doppel {
namespace {

uint64_t timestamp_address(const Signal& signal, Timestamp which) {
  return which == Timestamp::Start ? signal.ref().start_ts_address()
                                   : signal.ref().end_ts_address();
}

Status wrong_queue(std::string_view why) {
  return Status(StatusCode::InvalidArgument,
                fmt::format("The commands are not for a queue of this kind: {}.", why));
}

}  // namespace

Commands::Commands(Queue& queue)
    : queue_(&queue),
      queue_lives_(queue.lifetime()),
      submission_(std::in_place, queue.kind(), queue.device().target().family) {}

Commands::Commands(Commands&& other) noexcept
    : queue_(other.queue_),
      queue_lives_(other.queue_lives_),
      submission_(std::exchange(other.submission_, std::nullopt)),
      error_(std::exchange(other.error_, std::nullopt)) {}

Commands& Commands::operator=(Commands&& other) noexcept {
  queue_ = other.queue_;
  queue_lives_ = other.queue_lives_;
  submission_ = std::exchange(other.submission_, std::nullopt);
  error_ = std::exchange(other.error_, std::nullopt);
  return *this;
}

void Commands::fail(Status status) {
  if (!error_) error_ = std::move(status);
}

Result<> Commands::check_signal(const Signal& signal, std::string_view verb) {
  if (signal) return {};
  return invalid(fmt::format("The signal to {} is empty: moved from or never made.", verb));
}

const CommandStream& Commands::stream() const {
  static const CommandStream kNone(packets::Language::Pm4, GfxFamily::Gfx11);
  return submission_ ? submission_->commands : kNone;
}

Result<> Commands::check() const {
  if (error_) return std::unexpected(*error_);
  if (!submission_) return invalid("The recording has been submitted already, or moved from.");
  DOPPEL_TRY(check_queue());
  return submission_->commands.check();
}

Result<> Commands::submit() {
  const Result<> recorded = check();
  std::optional<Submission> submission = std::exchange(submission_, std::nullopt);
  error_.reset();
  if (!recorded) return recorded;
  return queue_->submit(*std::move(submission));
}

Result<> Commands::check_queue() const {
  if (!queue_lives_.expired()) return {};
  return error(StatusCode::Unavailable, "The recording's queue has been destroyed.");
}

ComputeCommands::ComputeCommands(Queue& queue) : Commands(queue) {
  if (queue.kind() == QueueKind::Sdma) fail(wrong_queue("an SDMA queue runs no kernels"));
}

SdmaCommands::SdmaCommands(Queue& queue) : Commands(queue) {
  if (queue.kind() != QueueKind::Sdma) fail(wrong_queue("a compute queue makes no copies"));
}

template <class Encode>
void ComputeCommands::pm4(Encode encode) {
  CommandStream& commands = submission_->commands;
  if (queue_->kind() == QueueKind::Pm4) {
    Pm4Encoder encoder(commands);
    encode(encoder);
    return;
  }
  CommandStream behind_packet(packets::Language::Pm4, commands.family());
  Pm4Encoder encoder(behind_packet);
  encode(encoder);
  append_pm4(*submission_, behind_packet);
}

ComputeCommands& ComputeCommands::wait(const Signal& signal, uint64_t value,
                                       SignalCondition condition) {
  if (!ok()) return *this;
  if (auto checked = check_signal(signal, "wait for"); !checked) {
    fail(checked.error());
  } else if (queue_->kind() == QueueKind::Aql) {
    AqlEncoder(submission_->commands).wait(signal.ref(), value, condition);
  } else {
    Pm4Encoder(submission_->commands).wait(signal.ref(), value, condition);
  }
  return *this;
}

ComputeCommands& ComputeCommands::memory_barrier() {
  if (ok()) pm4([](Pm4Encoder& encoder) { encoder.memory_barrier(); });
  return *this;
}

ComputeCommands& ComputeCommands::signal(const Signal& signal, uint64_t value) {
  if (!ok()) return *this;
  if (auto checked = check_signal(signal, "store"); !checked) {
    fail(checked.error());
    return *this;
  }
  pm4([&](Pm4Encoder& encoder) { encoder.signal(signal.ref(), value, SignalWidth::Bits64); });
  return *this;
}

ComputeCommands& ComputeCommands::timestamp(const Signal& signal, Timestamp which) {
  if (!ok()) return *this;
  if (auto checked = check_signal(signal, "stamp"); !checked) {
    fail(checked.error());
    return *this;
  }
  pm4([&](Pm4Encoder& encoder) { encoder.timestamp(timestamp_address(signal, which)); });
  return *this;
}

ComputeCommands& ComputeCommands::exec(const Result<Kernel>& kernel, const KernelArgs& args,
                                       Dim3 grid, Dim3 workgroup, const LaunchOptions& options) {
  if (ok()) launch(kernel, args, LaunchDims::from(grid, workgroup), options);
  return *this;
}

ComputeCommands& ComputeCommands::exec(const Result<Kernel>& kernel, const KernelArgs& args,
                                       WorkItems items, Dim3 workgroup,
                                       const LaunchOptions& options) {
  if (ok()) launch(kernel, args, LaunchDims::from(items, workgroup), options);
  return *this;
}

void ComputeCommands::launch(const Result<Kernel>& kernel, const KernelArgs& args,
                             const Result<LaunchDims>& dims, const LaunchOptions& options) {
  if (!kernel) return fail(kernel.error());
  if (!dims) return fail(dims.error());
  if (auto encoded = encode_launch(*kernel, args, *dims, options); !encoded) fail(encoded.error());
}

Result<> ComputeCommands::encode_launch(const Kernel& kernel, const KernelArgs& args,
                                        const LaunchDims& dims, const LaunchOptions& options) {
  const KernelInfo& info = kernel.info();
  if (kernel.owner() != &queue_->device()) {
    return invalid(fmt::format("The kernel ({}) is loaded on another device.", info.name));
  }
  DispatchCommand command;
  command.kernel = &info;
  command.entry_address = kernel.entry_address();
  command.descriptor_address = kernel.descriptor_address();
  command.dims = dims;
  const uint64_t group_bytes =
      uint64_t{group_segment_bytes(info, args)} + options.dynamic_group_bytes;
  command.group_bytes = static_cast<uint32_t>(std::min<uint64_t>(group_bytes, UINT32_MAX));
  DOPPEL_TRY(check_launch(info, kernel.target(), dims, command.group_bytes));

  command.private_bytes = info.uses_dynamic_stack
                              ? std::max(info.private_bytes, options.stack_bytes)
                              : info.private_bytes;
  if (command.private_bytes != 0) {
    DOPPEL_ASSIGN(ScratchLease lease, queue_->scratch(command.private_bytes, info.wave_size));
    command.scratch = lease.ring;
    submission_->keep_alive.push_back(std::move(lease.keep_alive));
  }
  submission_->keep_alive.push_back(kernel.program());

  HiddenArgs hidden = queue_->hidden_args();
  hidden.dynamic_group_bytes = command.group_bytes - info.group_bytes;
  ArgumentBlock& arguments = submission_->arguments;
  const uint32_t offset = arguments.reserve(info.kernarg_bytes, ArgumentBlock::kAlignment);
  DOPPEL_TRY(pack_kernel_args(info, args, dims, hidden, arguments.at(offset, info.kernarg_bytes)));

  if (queue_->kind() == QueueKind::Aql) {
    const DispatchPatch patch = AqlEncoder(submission_->commands).exec(command);
    if (patch.kernarg_address) arguments.refer(patch.kernarg_address, offset);
    return submission_->commands.check();
  }
  // A kernel that reads its dispatch packet needs an address here already; it is patched below.
  command.dispatch_packet_address = ArgumentBlock::kAlignment;
  const DispatchPatch patch = Pm4Encoder(submission_->commands).exec(command);
  if (patch.kernarg_address) arguments.refer(patch.kernarg_address, offset);
  if (patch.dispatch_packet_address) add_dispatch_packet(command, patch, offset);
  return submission_->commands.check();
}

void ComputeCommands::add_dispatch_packet(DispatchCommand& command, const DispatchPatch& patch,
                                          uint32_t kernarg_offset) {
  // The packet that an AQL queue would have held: the kernel reads its launch dimensions here.
  CommandStream stream(packets::Language::Aql, submission_->commands.family());
  AqlEncoder(stream).exec(command);
  const auto packet = std::as_bytes(stream.dwords());
  ArgumentBlock& arguments = submission_->arguments;
  const uint32_t offset =
      arguments.reserve(abi::kAqlPacketBytes, static_cast<uint32_t>(abi::kAqlPacketBytes));
  std::ranges::copy(packet, arguments.at(offset, abi::kAqlPacketBytes).begin());
  arguments.point(offset + offsetof(abi::KernelDispatchPacket, kernarg_address), kernarg_offset);
  arguments.refer(patch.dispatch_packet_address, offset);
}

SdmaCommands& SdmaCommands::wait(const Signal& signal, uint64_t value, SignalCondition condition) {
  if (!ok()) return *this;
  if (auto checked = check_signal(signal, "wait for"); !checked) {
    fail(checked.error());
  } else {
    SdmaEncoder(submission_->commands).wait(signal.ref(), value, condition);
  }
  return *this;
}

SdmaCommands& SdmaCommands::copy(const MemoryView& source, const MemoryView& destination) {
  if (!ok()) return *this;
  auto checked = check_view(source, "source");
  if (checked) checked = check_view(destination, "destination");
  if (checked && destination.size < source.size) {
    checked =
        invalid(fmt::format("The destination ({} bytes) is shorter than the source ({} "
                            "bytes).",
                            destination.size, source.size));
  }
  if (!checked) {
    fail(checked.error());
  } else {
    SdmaEncoder(submission_->commands)
        .copy(destination.gpu_address, source.gpu_address, source.size);
  }
  return *this;
}

SdmaCommands& SdmaCommands::fill(const MemoryView& destination, uint32_t pattern) {
  if (!ok()) return *this;
  if (auto checked = check_view(destination, "destination"); !checked) {
    fail(checked.error());
  } else {
    SdmaEncoder(submission_->commands).fill(destination.gpu_address, pattern, destination.size);
  }
  return *this;
}

SdmaCommands& SdmaCommands::write(const MemoryView& destination, std::span<const uint32_t> dwords) {
  if (!ok()) return *this;
  auto checked = check_view(destination, "destination");
  if (checked && destination.size < dwords.size_bytes()) {
    checked = invalid(fmt::format("The destination ({} bytes) is shorter than the data ({} bytes).",
                                  destination.size, dwords.size_bytes()));
  }
  if (!checked) {
    fail(checked.error());
  } else {
    SdmaEncoder(submission_->commands).write(destination.gpu_address, dwords);
  }
  return *this;
}

SdmaCommands& SdmaCommands::signal(const Signal& signal, uint64_t value) {
  if (!ok()) return *this;
  if (auto checked = check_signal(signal, "store"); !checked) {
    fail(checked.error());
  } else {
    SdmaEncoder(submission_->commands).signal(signal.ref(), value);
  }
  return *this;
}

SdmaCommands& SdmaCommands::timestamp(const Signal& signal, Timestamp which) {
  if (!ok()) return *this;
  if (auto checked = check_signal(signal, "stamp"); !checked) {
    fail(checked.error());
  } else {
    SdmaEncoder(submission_->commands).timestamp(timestamp_address(signal, which));
  }
  return *this;
}

}  // namespace doppel
