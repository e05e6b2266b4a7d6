#include "backends/kfd/kfd_process.h"

namespace doppel::kfd {

KfdProcess::KfdProcess(std::shared_ptr<KfdDriver> driver, Topology topology)
    : driver_(std::move(driver)),
      topology_(std::move(topology)),
      events_(std::make_shared<KfdEvents>(driver_)),
      waiter_(std::make_shared<Waiter>(driver_, *events_)),
      signals_(std::make_shared<KfdSignalPool>(events_, waiter_)) {}

Result<std::shared_ptr<KfdProcess>> KfdProcess::open(std::shared_ptr<KernelAbi> kernel) {
  DOPPEL_ASSIGN(std::shared_ptr<KfdDriver> driver, KfdDriver::open(std::move(kernel)));
  DOPPEL_ASSIGN(Topology topology, read_topology(driver->kernel()));
  return std::shared_ptr<KfdProcess>(new KfdProcess(std::move(driver), std::move(topology)));
}

Result<> KfdProcess::attach(KfdMemory& memory) {
  DOPPEL_TRY(events_->attach(memory));
  return signals_->attach(memory);
}

}  // namespace doppel::kfd
