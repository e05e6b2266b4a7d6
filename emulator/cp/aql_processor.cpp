#include "emulator/cp/aql_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/abi/amd_signal.h"
#include "core/abi/hsa_aql.h"
#include "core/abi/kernel_descriptor.h"
#include "core/align.h"
#include "core/status.h"

namespace doppel::emu {
namespace {

using aql::Id;

constexpr uint64_t kPacketNs = 100;
constexpr Outcome kDone{.ns = kPacketNs};
constexpr Outcome kWait{.next = Next::Wait, .ns = kPacketNs};
constexpr uint64_t kCodeAlignment = 256;

// Word 3 of a buffer resource (RDNA2 ISA manual, section 8.1.8): the lane's number is the index,
// and how many lanes' elements lie side by side.
constexpr uint32_t kAddTidEnable = 1 << 23;
constexpr uint32_t kIndexStride32 = 2 << 21;
constexpr uint32_t kIndexStride64 = 3 << 21;

constexpr uint64_t value_of(uint64_t signal) {
  return signal + offsetof(abi::AmdSignal, value);
}

template <class View>
std::array<uint64_t, 5> dependencies(const View& view) {
  return {view.dep_signal0(), view.dep_signal1(), view.dep_signal2(), view.dep_signal3(),
          view.dep_signal4()};
}

std::array<uint32_t, 3> grid_of(const aql::KernelDispatch::View& view) {
  return {view.grid_size_x(), view.grid_size_y(), view.grid_size_z()};
}
std::array<uint32_t, 3> workgroup_of(const aql::KernelDispatch::View& view) {
  return {view.workgroup_size_x(), view.workgroup_size_y(), view.workgroup_size_z()};
}

/// The code that ROCr knows for what went wrong in a wave; 0: KFD reports it, not the queue.
uint32_t error_code(FaultKind kind) {
  switch (kind) {
    case FaultKind::BadPacket:
    case FaultKind::UnsupportedPacket:
      return abi::kQueueErrorPacket;
    case FaultKind::IllegalInstruction:
    case FaultKind::UnsupportedInstruction:
      return abi::kQueueErrorIllegalInstruction;
    case FaultKind::BadDispatch:
      return abi::kQueueErrorCodeObject;
    case FaultKind::Trap:
    case FaultKind::InstructionBudget:
      return abi::kQueueErrorTrap;
    case FaultKind::MemoryViolation:
      return abi::kQueueErrorAperture;
    case FaultKind::UnmappedAccess:
    case FaultKind::PermissionDenied:
    case FaultKind::Misaligned:
      return 0;
  }
  return 0;
}

}  // namespace

AqlProcessor::AqlProcessor(const CpContext& context, uint64_t read_pointer)
    : context_(context), queue_va_(read_pointer - offsetof(abi::AmdQueue, read_dispatch_id)) {}

std::unexpected<Fault> AqlProcessor::refuse(FaultKind kind, uint32_t code, std::string message) {
  error_code_ = code;
  return fault(kind, std::move(message));
}

template <class Struct>
std::expected<Struct, MemoryFault> AqlProcessor::read(uint64_t va) {
  Struct value;
  auto done = context_.memory.read(va, std::as_writable_bytes(std::span(&value, 1)));
  if (!done) return std::unexpected(std::move(done).error());
  return value;
}

PacketResult AqlProcessor::execute(const packets::Packet& packet, const PacketPlace& place,
                                   uint64_t va) {
  const uint64_t index = place.ring_position / kAqlPacketDwords;
  if (index != index_) {
    index_ = index;
    started_ = context_.counter();
    stage_ = Stage::Fresh;
  }
  // The barrier bit lies at the same place in every packet.
  const bool barrier = packet.as<aql::BarrierAnd>().barrier();
  if (barrier && stage_ == Stage::Fresh && !context_.pipe.idle()) {
    wait_.set(WaitFor::PipeIdle);
    return kWait;
  }
  switch (packet.aql_id()) {
    case Id::KernelDispatch:
      return kernel_dispatch(packet, place, va);
    case Id::BarrierAnd:
      if (auto outcome = barrier_and(packet); !outcome || outcome->next == Next::Wait)
        return outcome;
      return finish_barrier(packet.as<aql::BarrierAnd>().completion_signal(), va);
    case Id::BarrierOr:
      if (auto outcome = barrier_or(packet); !outcome || outcome->next == Next::Wait)
        return outcome;
      return finish_barrier(packet.as<aql::BarrierOr>().completion_signal(), va);
    case Id::VendorBarrierValue:
      if (auto outcome = barrier_value(packet); !outcome || outcome->next == Next::Wait) {
        return outcome;
      }
      return finish_barrier(packet.as<aql::VendorBarrierValue>().completion_signal(), va);
    case Id::VendorPm4Ib:
      return pm4_ib(packet, va);
    case Id::AgentDispatch:
      return refuse(FaultKind::UnsupportedPacket, abi::kQueueErrorPacket,
                    "An agent dispatch is for a host agent; a GPU queue refuses it.");
    case Id::Unknown:
      break;
  }
  return refuse(FaultKind::UnsupportedPacket, abi::kQueueErrorPacket,
                fmt::format("The packet is not modelled ({}).", packet.name()));
}

PacketResult AqlProcessor::kernel_dispatch(const packets::Packet& packet, const PacketPlace& place,
                                           uint64_t va) {
  const auto queue = read<abi::AmdQueue>(queue_va_);
  if (!queue) return fault(queue.error());
  switch (stage_) {
    case Stage::UsesScratchOnce:
    case Stage::ReturnsScratch:
      return return_scratch(*queue);
    case Stage::AskedForScratch: {
      const auto cleared = wait_until_cleared(*queue);
      if (!cleared || cleared->next == Next::Wait) return cleared;
      stage_ = Stage::Fresh;
      break;
    }
    case Stage::Fresh:
      break;
  }
  return launch(packet, place, va, *queue);
}

PacketResult AqlProcessor::launch(const packets::Packet& packet, const PacketPlace& place,
                                  uint64_t va, const abi::AmdQueue& queue) {
  if (!context_.pipe.has_slot()) {
    wait_.set(WaitFor::DispatchSlot);
    return kWait;
  }
  DOPPEL_TRY(check(packet));
  auto dispatch = make_dispatch(packet, va, queue);
  if (!dispatch) return std::unexpected(std::move(dispatch).error());
  const uint64_t private_bytes = packet.as<aql::KernelDispatch>().private_segment_size();
  if (private_bytes != 0) {
    const uint64_t lanes = dispatch->wave32 ? 32 : 64;
    if (private_bytes * lanes > uint64_t{queue.scratch_wave64_lane_byte_size} * 64) {
      return ask_for_scratch(packet, queue, dispatch->wave32);
    }
    const uint64_t base = queue.scratch_resource_descriptor[0] |
                          uint64_t{queue.scratch_resource_descriptor[1] & 0xffff} << 32;
    set_scratch(*dispatch, context_.gpu, base, queue.compute_tmpring_size);
  }
  if (!context_.pipe.can_launch(*dispatch)) {
    wait_.set(WaitFor::Scratch);
    return kWait;
  }
  const uint64_t tag = context_.in_flight.keep(packet.dwords, place, started_);
  if (auto launched = context_.pipe.launch(*dispatch, tag); !launched) {
    context_.in_flight.drop(tag);
    return std::unexpected(std::move(launched).error());
  }
  DOPPEL_TRY(take_up(va));
  if (private_bytes == 0 ||
      !(queue.queue_properties & abi::AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE)) {
    return kDone;
  }
  stage_ = Stage::UsesScratchOnce;
  wait_.set(WaitFor::PipeIdle);
  return kWait;
}

PacketResult AqlProcessor::ask_for_scratch(const packets::Packet& packet,
                                           const abi::AmdQueue& queue, bool wave32) {
  if (queue.queue_inactive_signal == 0) {
    return refuse(FaultKind::BadDispatch, abi::kQueueErrorCodeObject,
                  fmt::format("The kernel needs scratch that the queue does not have, and there is "
                              "no queue_inactive_signal to ask for it (private segment {} bytes, "
                              "queue {} bytes per wave64 lane).",
                              packet.as<aql::KernelDispatch>().private_segment_size(),
                              queue.scratch_wave64_lane_byte_size));
  }
  const auto asked =
      set_inactive(queue, wave32 ? abi::kQueueScratchWave32 : abi::kQueueScratchWave64);
  if (!asked) return fault(asked.error());
  stage_ = Stage::AskedForScratch;
  return wait_until_cleared(queue);
}

PacketResult AqlProcessor::return_scratch(const abi::AmdQueue& queue) {
  if (stage_ == Stage::UsesScratchOnce) {
    if (!context_.pipe.idle()) return kWait;
    if (queue.queue_inactive_signal == 0) return kDone;
    const auto told = set_inactive(queue, abi::kQueueScratchOnceDone);
    if (!told) return fault(told.error());
    stage_ = Stage::ReturnsScratch;
  }
  return wait_until_cleared(queue);
}

PacketResult AqlProcessor::wait_until_cleared(const abi::AmdQueue& queue) {
  const uint64_t va = value_of(queue.queue_inactive_signal);
  const auto value = context_.memory.load<uint64_t>(va);
  if (!value) return fault(value.error());
  if (*value == 0) return kDone;
  wait_.clear();
  wait_.add({va, 0, ~uint64_t{0}, Compare::Equal, true});
  return kWait;
}

std::expected<void, Fault> AqlProcessor::check(const packets::Packet& packet) {
  const auto view = packet.as<aql::KernelDispatch>();
  const auto grid = grid_of(view), workgroup = workgroup_of(view);
  uint64_t workitems = 1;
  for (uint32_t axis = 0; axis < 3; ++axis) {
    const bool unused = axis >= view.dimensions();
    if (grid[axis] == 0 || workgroup[axis] == 0 ||
        (unused && (grid[axis] != 1 || workgroup[axis] != 1)) || view.dimensions() == 0) {
      return refuse(FaultKind::BadDispatch, abi::kQueueErrorDimensions,
                    fmt::format("The grid does not have the dimensions it says (dimensions {}, "
                                "grid {}x{}x{}, workgroup {}x{}x{}).",
                                view.dimensions(), grid[0], grid[1], grid[2], workgroup[0],
                                workgroup[1], workgroup[2]));
    }
    workitems *= workgroup[axis];
  }
  if (workitems > context_.target.max_workgroup_size) {
    return refuse(FaultKind::BadDispatch, abi::kQueueErrorWorkgroupSize,
                  fmt::format("The workgroup is too large ({} work-items, limit {}).", workitems,
                              context_.target.max_workgroup_size));
  }
  if (view.group_segment_size() > context_.target.lds_bytes) {
    return refuse(FaultKind::BadDispatch, abi::kQueueErrorGroupMemory,
                  fmt::format("The workgroup asks for too much LDS ({} bytes, limit {}).",
                              view.group_segment_size(), context_.target.lds_bytes));
  }
  return {};
}

std::expected<Dispatch, Fault> AqlProcessor::make_dispatch(const packets::Packet& packet,
                                                           uint64_t va,
                                                           const abi::AmdQueue& queue) {
  const auto view = packet.as<aql::KernelDispatch>();
  const uint64_t object = view.kernel_object();
  const auto descriptor = read<abi::KernelDescriptor>(object);
  if (!descriptor) return fault(descriptor.error());
  Dispatch dispatch;
  dispatch.target = &context_.target;
  dispatch.vm = &context_.memory.vm();
  dispatch.program = object + static_cast<uint64_t>(descriptor->kernel_code_entry_byte_offset);
  if (dispatch.program % kCodeAlignment != 0) {
    return refuse(FaultKind::BadDispatch, abi::kQueueErrorCodeObject,
                  fmt::format("The kernel's code is not aligned to {} bytes (kernel object 0x{:x}, "
                              "code 0x{:x}).",
                              kCodeAlignment, object, dispatch.program));
  }
  dispatch.rsrc1 = descriptor->compute_pgm_rsrc1;
  dispatch.rsrc3 = descriptor->compute_pgm_rsrc3;
  dispatch.lds_bytes = align_up(view.group_segment_size(), abi::kLdsGranule);
  regs::ComputePgmRsrc2 rsrc2(family(), descriptor->compute_pgm_rsrc2);
  rsrc2.lds_size(dispatch.lds_bytes / abi::kLdsGranule);
  dispatch.rsrc2 = rsrc2.value();
  dispatch.wave32 = family() != GfxFamily::Gfx9_4 &&
                    (descriptor->kernel_code_properties & abi::ENABLE_WAVEFRONT_SIZE32);
  const auto grid = grid_of(view), workgroup = workgroup_of(view);
  for (uint32_t axis = 0; axis < 3; ++axis) {
    dispatch.workgroup[axis] = workgroup[axis];
    dispatch.last_workgroup[axis] = grid[axis] % workgroup[axis];
    dispatch.grid[axis] = grid[axis] / workgroup[axis] + (dispatch.last_workgroup[axis] != 0);
  }
  set_user_data(dispatch, packet, va, *descriptor, queue);
  return dispatch;
}

void AqlProcessor::set_user_data(Dispatch& dispatch, const packets::Packet& packet, uint64_t va,
                                 const abi::KernelDescriptor& descriptor,
                                 const abi::AmdQueue& queue) const {
  const auto view = packet.as<aql::KernelDispatch>();
  const uint32_t wanted = descriptor.kernel_code_properties;
  uint32_t next = 0;
  auto add = [&](uint32_t property, uint64_t value, uint32_t dwords) {
    if (!(wanted & property)) return;
    for (uint32_t i = 0; i < dwords; ++i) {
      dispatch.user_data[next++] = static_cast<uint32_t>(value >> 32 * i);
    }
  };
  // The order that LLVM's AMDGPU usage guide gives; 15 at most.
  if (wanted & abi::ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER) {
    std::ranges::copy(queue.scratch_resource_descriptor, dispatch.user_data.begin());
    // The client leaves to the CP what depends on the wave size (ROCr: FillBufRsrcWord3_Gfx10).
    if (family() != GfxFamily::Gfx9_4)
      dispatch.user_data[3] |= kAddTidEnable | (dispatch.wave32 ? kIndexStride32 : kIndexStride64);
    next = 4;
  }
  add(abi::ENABLE_SGPR_DISPATCH_PTR, va, 2);
  add(abi::ENABLE_SGPR_QUEUE_PTR, queue_va_, 2);
  add(abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR, view.kernarg_address(), 2);
  add(abi::ENABLE_SGPR_DISPATCH_ID, index_, 2);
  add(abi::ENABLE_SGPR_FLAT_SCRATCH_INIT, queue.scratch_backing_memory_location, 2);
  add(abi::ENABLE_SGPR_PRIVATE_SEGMENT_SIZE, view.private_segment_size(), 1);
}

PacketResult AqlProcessor::barrier_and(const packets::Packet& packet) {
  for (uint64_t signal : dependencies(packet.as<aql::BarrierAnd>())) {
    if (signal == 0) continue;
    const auto value = context_.memory.load<uint64_t>(value_of(signal));
    if (!value) return fault(value.error());
    if (*value == 0) continue;
    wait_.clear();
    wait_.add({value_of(signal), 0, ~uint64_t{0}, Compare::Equal, true});
    return kWait;
  }
  return kDone;
}

PacketResult AqlProcessor::barrier_or(const packets::Packet& packet) {
  wait_.clear();
  for (uint64_t signal : dependencies(packet.as<aql::BarrierOr>())) {
    if (signal == 0) continue;
    const auto value = context_.memory.load<uint64_t>(value_of(signal));
    if (!value) return fault(value.error());
    if (*value == 0) return kDone;
    wait_.add({value_of(signal), 0, ~uint64_t{0}, Compare::Equal, true});
  }
  return wait_.words().empty() ? kDone : kWait;
}

PacketResult AqlProcessor::barrier_value(const packets::Packet& packet) {
  const auto view = packet.as<aql::VendorBarrierValue>();
  if (view.signal() == 0) return kDone;
  Compare compare = Compare::Equal;
  switch (view.cond()) {
    case aql::SignalCondition::EQ:
      break;
    case aql::SignalCondition::NE:
      compare = Compare::NotEqual;
      break;
    case aql::SignalCondition::LT:
      compare = Compare::Less;
      break;
    case aql::SignalCondition::GTE:
      compare = Compare::GreaterEqual;
      break;
    default:
      return refuse(
          FaultKind::BadPacket, abi::kQueueErrorVendorPacket,
          fmt::format("The barrier has no such condition ({}).", std::to_underlying(view.cond())));
  }
  const MemoryWait wait{value_of(view.signal()), view.value(), view.mask(), compare, true, true};
  const auto value = context_.memory.load<uint64_t>(wait.va);
  if (!value) return fault(value.error());
  if (passes(wait, *value)) return kDone;
  wait_.clear();
  wait_.add(wait);
  return kWait;
}

PacketResult AqlProcessor::finish_barrier(uint64_t completion_signal, uint64_t va) {
  DOPPEL_TRY(take_up(va));
  DOPPEL_TRY(complete(completion_signal, started_));
  retire(index_);
  return kDone;
}

PacketResult AqlProcessor::pm4_ib(const packets::Packet& packet, uint64_t va) {
  const auto view = packet.as<aql::VendorPm4Ib>();
  const auto inner =
      packets::next_packet(packets::Language::Pm4, packet.dwords.subspan(1, 4), family());
  if (!inner.ok() || inner.pm4_id() != pm4::Id::IndirectBuffer) {
    return refuse(
        FaultKind::BadPacket, abi::kQueueErrorVendorPacket,
        fmt::format("A PM4 IB packet holds INDIRECT_BUFFER (0x{:08x}).", view.ib_header()));
  }
  DOPPEL_TRY(take_up(va));
  in_pm4_ib_ = true;
  ib_signal_ = view.completion_signal();
  const auto buffer = inner.as<pm4::IndirectBuffer>();
  return Outcome{.next = Next::IndirectBuffer,
                 .ib_dwords = buffer.ib_size(),
                 .ib_base = buffer.ib_base(),
                 .ns = kPacketNs};
}

std::expected<void, Fault> AqlProcessor::left_ib() {
  if (!std::exchange(in_pm4_ib_, false)) return {};
  DOPPEL_TRY(complete(ib_signal_, started_));
  retire(index_);
  return {};
}

std::expected<void, Fault> AqlProcessor::dispatch_done(const InFlightPacket& in_flight) {
  const auto view = aql::KernelDispatch::view(in_flight.dwords(), family());
  DOPPEL_TRY(complete(view.completion_signal(), in_flight.started));
  retire(in_flight.place.ring_position / kAqlPacketDwords);
  return {};
}

std::expected<void, Fault> AqlProcessor::complete(uint64_t signal, uint64_t started) {
  if (signal == 0) return {};
  MemoryPort& memory = context_.memory;
  auto done = memory.store<uint64_t>(signal + offsetof(abi::AmdSignal, start_ts), started);
  if (done) done = memory.store(signal + offsetof(abi::AmdSignal, end_ts), context_.counter());
  if (!done) return fault(done.error());
  const auto old = memory.exchange<uint64_t>(value_of(signal), [](uint64_t v) { return v - 1; });
  if (!old) return fault(old.error());
  if (const auto told = notify(signal); !told) return fault(told.error());
  return {};
}

std::expected<void, MemoryFault> AqlProcessor::notify(uint64_t signal) {
  MemoryPort& memory = context_.memory;
  const auto mailbox = memory.load<uint64_t>(signal + offsetof(abi::AmdSignal, event_mailbox_ptr));
  if (!mailbox) return std::unexpected(mailbox.error());
  if (*mailbox == 0) return {};
  const auto event = memory.load<uint32_t>(signal + offsetof(abi::AmdSignal, event_id));
  if (!event) return std::unexpected(event.error());
  if (auto stored = memory.store<uint64_t>(*mailbox, *event); !stored) return stored;
  context_.interrupts.raise(*event);
  return {};
}

std::expected<void, MemoryFault> AqlProcessor::set_inactive(const abi::AmdQueue& queue,
                                                            uint32_t code) {
  auto stored = context_.memory.store<uint64_t>(value_of(queue.queue_inactive_signal), code);
  if (!stored) return stored;
  return notify(queue.queue_inactive_signal);
}

std::expected<void, Fault> AqlProcessor::take_up(uint64_t va) {
  const auto done = context_.memory.store<uint16_t>(va, abi::HSA_PACKET_TYPE_INVALID);
  if (!done) return fault(done.error());
  return {};
}

void AqlProcessor::retire(uint64_t index) {
  const uint64_t slot = index - retired_;
  if (slot >= done_.size()) done_.resize(slot + 1);
  done_[slot] = true;
  while (!done_.empty() && done_.front()) {
    done_.pop_front();
    ++retired_;
  }
}

bool AqlProcessor::take_retired() {
  return std::exchange(reported_, retired_) != retired_;
}

void AqlProcessor::report_error(const Fault& fault) {
  const uint32_t code = error_code_ != 0 ? error_code_ : error_code(fault.kind);
  if (code == 0) return;
  // A queue without an amd_queue_t, or without a signal, has nobody to tell but the driver.
  const auto queue = read<abi::AmdQueue>(queue_va_);
  if (!queue || queue->queue_inactive_signal == 0) return;
  static_cast<void>(set_inactive(*queue, code));
}

}  // namespace doppel::emu
