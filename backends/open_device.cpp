#include "backends/open_device.h"

#include <fmt/format.h>

#include "backends/kfd/kfd_device.h"
#include "backends/named_machine.h"

namespace doppel {
namespace {

Result<std::unique_ptr<Device>> open_gpu(const NamedMachine& machine, uint32_t index,
                                         std::string label, const OpenOptions& options) {
  DOPPEL_ASSIGN(auto device,
                kfd::KfdDevice::open(machine.process, index, std::move(label), options.device));
  return device;
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(std::string_view name, const OpenOptions& options) {
  DOPPEL_ASSIGN(const NamedMachine machine,
                open_named_machine(name, {options.record, options.verify, options.schedule}));
  return open_gpu(machine, machine.index.value_or(0), std::string(name), options);
}

Result<std::vector<std::unique_ptr<Device>>> open_devices(std::string_view name,
                                                          const OpenOptions& options) {
  DOPPEL_ASSIGN(const NamedMachine machine,
                open_named_machine(name, {options.record, options.verify, options.schedule}));
  std::vector<std::unique_ptr<Device>> devices;
  if (machine.index) {
    DOPPEL_ASSIGN(devices.emplace_back(),
                  open_gpu(machine, *machine.index, std::string(name), options));
    return devices;
  }
  const size_t count = machine.process->topology().gpus().size();
  for (uint32_t index = 0; index < count; ++index) {
    DOPPEL_ASSIGN(devices.emplace_back(),
                  open_gpu(machine, index, fmt::format("{}#{}", name, index), options));
  }
  return devices;
}

}  // namespace doppel
