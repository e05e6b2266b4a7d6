#include "backends/kfd/kfd_process.h"

#include <fmt/format.h>

namespace doppel::kfd {

KfdProcess::KfdProcess(std::shared_ptr<KfdDriver> driver, Topology topology)
    : driver_(std::move(driver)),
      topology_(std::move(topology)),
      events_(std::make_shared<KfdEvents>(driver_)),
      waiter_(std::make_shared<Waiter>(driver_, *events_)),
      signals_(
          std::make_shared<KfdSignalPool>(events_, waiter_, driver_->kernel().host_observer())) {}

Result<std::shared_ptr<KfdProcess>> KfdProcess::open(std::shared_ptr<KernelAbi> kernel) {
  DOPPEL_ASSIGN(std::shared_ptr<KfdDriver> driver, KfdDriver::open(std::move(kernel)));
  DOPPEL_ASSIGN(Topology topology, read_topology(driver->kernel()));
  return std::shared_ptr<KfdProcess>(new KfdProcess(std::move(driver), std::move(topology)));
}

Result<std::shared_ptr<KfdMemory>> KfdProcess::acquire(const TopologyNode& node) {
  if (const auto found = memories_.find(node.gpu_id); found != memories_.end()) {
    return found->second;
  }
  DOPPEL_ASSIGN(
      Descriptor render,
      Descriptor::open(driver_->shared_kernel(),
                       fmt::format("/dev/dri/renderD{}", node.properties["drm_render_minor"])));
  DOPPEL_ASSIGN(auto memory, KfdMemory::open(driver_, std::move(render), node.gpu_id));
  memories_.emplace(node.gpu_id, memory);
  return memory;
}

Result<std::shared_ptr<KfdMemory>> KfdProcess::address_space_of(const TopologyNode& node) {
  const std::scoped_lock lock(mutex_);
  return acquire(node);
}

Result<std::shared_ptr<KfdMemory>> KfdProcess::memory_of(const TopologyNode& node) {
  const std::scoped_lock lock(mutex_);
  DOPPEL_ASSIGN(auto memory, acquire(node));
  // Attaching what is attached does nothing.
  DOPPEL_TRY(events_->attach(*memory));
  DOPPEL_TRY(signals_->attach(*memory));
  return memory;
}

void KfdProcess::device_opened() {
  const std::scoped_lock lock(mutex_);
  ++open_devices_;
}

Result<> KfdProcess::device_closed() {
  const std::scoped_lock lock(mutex_);
  if (--open_devices_ != 0) return {};
  return events_->forget_exceptions();
}

}  // namespace doppel::kfd
