#include "emulator/simulator.h"

#include <algorithm>

#include "core/assert.h"
#include "emulator/simulator_impl.h"
#include "emulator/stall_report.h"
#include "emulator/verify/observer.h"

namespace doppel::emu {

Simulator::Simulator(SimulatorOptions options) : impl_(std::make_unique<Impl>(options)) {}

Simulator::~Simulator() = default;

Gpu& Simulator::add_gpu(const GpuConfig& config) {
  impl_->gpus.push_back(std::make_unique<Gpu>(*this, gpu_count(), config));
  return *impl_->gpus.back();
}

Gpu& Simulator::gpu(uint32_t index) {
  DOPPEL_ASSERT(index < impl_->gpus.size(), "The simulator has no such GPU.");
  return *impl_->gpus[index];
}

uint32_t Simulator::gpu_count() const {
  return static_cast<uint32_t>(impl_->gpus.size());
}

bool Simulator::step() {
  return impl_->scheduler.step();
}

bool Simulator::step_before_host() {
  return impl_->scheduler.step(true);
}

bool Simulator::idle() const {
  return std::ranges::all_of(impl_->scheduler.blocks(), [](Block* block) { return block->idle(); });
}

std::string Simulator::stall_report() const {
  return emu::stall_report(stalls());
}

std::vector<Stall> Simulator::stalls() const {
  return emu::stalls(*impl_);
}

void Simulator::visit_queued(const QueuedVisitor& visit) const {
  for (auto& gpu : impl_->gpus) {
    for (auto& [id, queue] : gpu->impl().queues) {
      if (queue->faulted()) continue;  // it is never going to carry them out
      const QueueRef ref = queue->ref();
      queue->visit_queued([&](const packets::Packet& packet, const PacketPlace& place) {
        visit(ref, packet, place);
      });
    }
  }
}

void Simulator::notice_submissions() {
  for (auto& gpu : impl_->gpus) {
    for (auto& [id, queue] : gpu->impl().queues) queue->notice_submission();
  }
}

void Simulator::observe(Observer* observer) {
  impl_->observer = observer;
  for (auto& gpu : impl_->gpus) gpu->impl().context.observer = observer;
}

Observer* Simulator::observer() const {
  return impl_->observer;
}

VirtualClock& Simulator::clock() {
  return impl_->scheduler.clock();
}

const SimulatorOptions& Simulator::options() const {
  return impl_->options;
}

}  // namespace doppel::emu
