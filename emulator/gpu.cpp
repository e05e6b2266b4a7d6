#include "emulator/gpu.h"

#include <fmt/format.h>

#include <bit>

#include "core/assert.h"
#include "emulator/simulator_impl.h"
#include "emulator/verify/observer.h"

namespace doppel::emu {
namespace {

constexpr uint64_t kMinRingBytes = 1024;

Result<> check_ring(uint64_t ring, uint64_t bytes) {
  if (ring % 256 != 0 || bytes < kMinRingBytes || !std::has_single_bit(bytes)) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("A ring is a power of two of at least {} bytes, aligned to 256 "
                             "(ring 0x{:x}, {} bytes).",
                             kMinRingBytes, ring, bytes));
  }
  return {};
}

Result<> check_queue(const QueueConfig& config, const GpuConfig& gpu) {
  DOPPEL_TRY(check_ring(config.ring, config.ring_bytes));
  if (!config.vm) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("A queue has an address space (queue {}).", config.id));
  }
  if (config.read_pointer % 8 != 0 || config.write_pointer % 8 != 0) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("Queue pointers are aligned to 8 bytes (read 0x{:x}, write 0x{:x}).",
                             config.read_pointer, config.write_pointer));
  }
  if (config.write_pointer == 0 && !config.doorbell) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("A queue has a doorbell or a write pointer (queue {}).", config.id));
  }
  if (config.kind == QueueKind::Sdma && config.sdma_engine >= gpu.sdma_engines) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The GPU has no such SDMA engine (engine {}, engines {}).",
                             config.sdma_engine, gpu.sdma_engines));
  }
  return {};
}

}  // namespace

Gpu::Impl::Impl(Scheduler& scheduler, uint32_t index, const GpuConfig& config)
    : context{index, config, &scheduler, &interrupts, nullptr, {}}, interrupts(index) {
  scheduler.add(interrupts);
}

Gpu::Impl::~Impl() {
  for (auto& [id, queue] : queues) context.scheduler->remove(*queue);
  context.scheduler->remove(interrupts);
}

HardwareQueue* Gpu::Impl::find(uint32_t id) {
  const auto found = queues.find(id);
  return found == queues.end() ? nullptr : found->second.get();
}

Gpu::Gpu(Simulator& simulator, uint32_t index, GpuConfig config)
    : impl_(std::make_unique<Impl>(simulator.impl().scheduler, index, config)) {
  impl_->context.observer = simulator.impl().observer;
  DOPPEL_ASSERT(config.target, "A GPU has a target.");
}

Gpu::~Gpu() = default;

uint32_t Gpu::index() const {
  return impl_->context.index;
}
const GpuConfig& Gpu::config() const {
  return impl_->context.config;
}

const GpuCounters& Gpu::counters() const {
  return impl_->context.counters;
}

Result<> Gpu::create_queue(const QueueConfig& config, InterruptSink* sink) {
  DOPPEL_TRY(check_queue(config, impl_->context.config));
  if (impl_->find(config.id)) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The queue exists already (queue {}).", config.id));
  }
  auto queue = make_hardware_queue(impl_->context, config, sink);
  impl_->context.scheduler->add(*queue);
  if (Observer* observer = impl_->context.observer) {
    config.vm->observe(observer);
    observer->on_queue_created(queue->ref());
  }
  impl_->queues.emplace(config.id, std::move(queue));
  return {};
}

Result<> Gpu::destroy_queue(uint32_t id) {
  const auto found = impl_->queues.find(id);
  if (found == impl_->queues.end()) {
    return error(StatusCode::NotFound, fmt::format("The GPU has no such queue (queue {}).", id));
  }
  Scheduler& scheduler = *impl_->context.scheduler;
  if (impl_->context.observer) impl_->context.observer->on_queue_destroyed(found->second->ref());
  scheduler.remove(*found->second);
  if (!scheduler.stepping()) impl_->buried.clear();
  impl_->buried.push_back(std::move(found->second));
  if (!scheduler.stepping()) impl_->buried.clear();
  impl_->queues.erase(found);
  return {};
}

Result<> Gpu::update_queue(uint32_t id, uint64_t ring, uint64_t ring_bytes) {
  HardwareQueue* queue = impl_->find(id);
  if (!queue) {
    return error(StatusCode::NotFound, fmt::format("The GPU has no such queue (queue {}).", id));
  }
  if (ring_bytes != 0) DOPPEL_TRY(check_ring(ring, ring_bytes));
  queue->update_ring(ring, ring_bytes);
  return {};
}

}  // namespace doppel::emu
