#include "backends/kfd/aql_state.h"

#include <algorithm>
#include <array>
#include <atomic>

#include <fmt/format.h>

#include "core/abi/hsa_aql.h"

namespace doppel::kfd {
namespace {

using doppel::abi::AmdQueue;

struct StopReason {
  uint32_t code;
  std::string_view text;
};

constexpr std::array kStopReasons = {
    StopReason{doppel::abi::kQueueErrorDimensions, "the dispatch's dimensions are invalid"},
    StopReason{doppel::abi::kQueueErrorGroupMemory, "the dispatch takes too much LDS"},
    StopReason{doppel::abi::kQueueErrorCodeObject, "the kernel object is invalid"},
    StopReason{doppel::abi::kQueueErrorPacket, "the packet's format is unknown"},
    StopReason{doppel::abi::kQueueErrorWorkgroupSize, "the workgroup is too large"},
    StopReason{doppel::abi::kQueueErrorRegisters, "the kernel takes too many registers"},
    StopReason{doppel::abi::kQueueErrorVendorPacket, "the vendor packet's format is unknown"},
    StopReason{doppel::abi::kQueueErrorAperture, "a wave accesses memory beyond its aperture"},
    StopReason{doppel::abi::kQueueErrorIllegalInstruction, "a wave meets an illegal instruction"},
    StopReason{doppel::abi::kQueueErrorTrap, "a wave traps"},
};

std::string stop_text(uint32_t code) {
  std::string text;
  for (const StopReason& reason : kStopReasons) {
    if ((code & reason.code) == 0) continue;
    if (!text.empty()) text += ", ";
    text += reason.text;
  }
  return text.empty() ? "the reason is unknown" : text;
}

}  // namespace

AqlState::AqlState(DeviceCore& core, QueueScratch& scratch, AmdQueue& queue, const Allocation& ring,
                   Signal inactive)
    : core_(core), scratch_(scratch), queue_(queue), ring_(ring), inactive_(std::move(inactive)) {}

Result<std::unique_ptr<AqlState>> AqlState::create(DeviceCore& core, QueueScratch& scratch,
                                                   AmdQueue& queue, uint64_t address,
                                                   const Allocation& ring) {
  DOPPEL_ASSIGN(Signal inactive, core.process->signals().create({}));
  const DeviceInfo& info = core.info;
  queue = {};
  queue.hsa_queue.base_address = ring.gpu_address();
  queue.hsa_queue.size = static_cast<uint32_t>(ring.size() / doppel::abi::kAqlPacketBytes);
  queue.hsa_queue.id = address;
  queue.group_segment_aperture_base_hi = static_cast<uint32_t>(core.apertures.lds_base >> 32);
  queue.private_segment_aperture_base_hi = static_cast<uint32_t>(core.apertures.scratch_base >> 32);
  queue.max_cu_id = std::max(info.compute_units, 1u) - 1;
  queue.max_wave_id = std::max(info.max_waves_per_simd * info.simds_per_compute_unit, 1u) - 1;
  queue.read_dispatch_id_field_base_byte_offset = offsetof(AmdQueue, read_dispatch_id);
  queue.queue_properties = doppel::abi::AMD_QUEUE_PROPERTIES_IS_PTR64;
  queue.queue_inactive_signal = inactive.ref().address;
  std::unique_ptr<AqlState> state(new AqlState(core, scratch, queue, ring, std::move(inactive)));
  core.process->waiter().add_service(state.get());
  return state;
}

AqlState::~AqlState() {
  core_.process->waiter().remove_service(this);
}

void AqlState::set_scratch(const ScratchMemory& memory) {
  constexpr uint64_t kWave64Lanes = 64;
  queue_.scratch_backing_memory_location = memory.allocation.gpu_address();
  queue_.scratch_backing_memory_byte_size = memory.plan.total_bytes;
  queue_.scratch_wave64_lane_byte_size =
      static_cast<uint32_t>(memory.plan.bytes_per_wave / kWave64Lanes);
  const ScratchRing ring{memory.allocation.gpu_address(), memory.plan.tmpring_size};
  const auto descriptor = scratch_descriptor(ring, 64, core_.info.target->family);
  std::ranges::copy(descriptor, queue_.scratch_resource_descriptor);
  std::atomic_ref(queue_.compute_tmpring_size)
      .store(memory.plan.tmpring_size, std::memory_order_release);
}

Result<> AqlState::serve() {
  const auto code = static_cast<uint32_t>(inactive_.value());
  if (code == 0 || stopped_) return {};
  if (code == doppel::abi::kQueueScratchWave64 || code == doppel::abi::kQueueScratchWave32) {
    return provide_scratch();
  }
  if (code == doppel::abi::kQueueScratchOnceDone) {
    inactive_.set(0);
    return {};
  }
  if (stopped_.exchange(true)) return {};
  core_.process->events().report(
      {core_.info.gpu_id, 0,
       fmt::format("The AQL queue at {:#x} of GPU {} stops: {} (code {:#x}).", ring_.gpu_address(),
                   core_.info.gpu_id, stop_text(code), code)});
  return {};
}

Result<> AqlState::provide_scratch() {
  // The processor stalls on the packet at its read index until the signal is 0 again.
  const auto packets = ring_.host_as<const doppel::abi::KernelDispatchPacket>();
  const uint64_t index = std::atomic_ref(queue_.read_dispatch_id).load(std::memory_order_acquire);
  const uint32_t private_bytes = packets[index % packets.size()].private_segment_size;
  DOPPEL_ASSIGN(in_use_, scratch_.acquire(private_bytes, 64));
  set_scratch(*in_use_);
  inactive_.set(0);
  return {};
}

}  // namespace doppel::kfd
