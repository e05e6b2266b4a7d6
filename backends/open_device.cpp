#include "backends/open_device.h"

#include <charconv>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "backends/kfd/kfd_device.h"
#include "backends/kfd/kfd_process.h"
#include "backends/kfd/linux_kernel.h"
#include "backends/kfd/recording_kernel.h"
#include "backends/mock/device_profile.h"
#include "backends/mock/virtual_kernel.h"

namespace doppel {
namespace {

constexpr std::string_view kMockPrefix = "mock:";
constexpr std::string_view kKfdName = "kfd";

/// A machine: its driver, and which of its GPUs the name means.
struct Machine {
  std::shared_ptr<kfd::KfdProcess> process;
  std::optional<uint32_t> index;
};

std::shared_ptr<kfd::KernelAbi> recorded(std::shared_ptr<kfd::KernelAbi> kernel,
                                         const OpenOptions& options) {
  if (options.record == nullptr) return kernel;
  return std::make_shared<kfd::RecordingKernel>(std::move(kernel), *options.record);
}

/// KFD gives a process one address space per GPU: whoever opens devices one by one shares it.
Result<std::shared_ptr<kfd::KfdProcess>> linux_process(const OpenOptions& options) {
  static std::mutex mutex;
  static std::weak_ptr<kfd::KfdProcess> shared;
  const std::scoped_lock lock(mutex);
  if (auto process = shared.lock()) return process;
  DOPPEL_ASSIGN(auto process,
                kfd::KfdProcess::open(recorded(std::make_shared<kfd::LinuxKernel>(), options)));
  shared = process;
  return process;
}

Result<Machine> open_machine(std::string_view name, const OpenOptions& options) {
  if (name.starts_with(kMockPrefix)) {
    DOPPEL_ASSIGN(mock::MachineProfile profile, mock::parse_machine(name));
    DOPPEL_ASSIGN(std::shared_ptr<kfd::KernelAbi> kernel,
                  mock::VirtualKernel::create(std::move(profile)));
    DOPPEL_ASSIGN(auto process, kfd::KfdProcess::open(recorded(std::move(kernel), options)));
    return Machine{std::move(process), std::nullopt};
  }
  std::string_view rest = name;
  if (rest.starts_with(kKfdName)) {
    rest.remove_prefix(kKfdName.size());
    uint32_t index = 0;
    const auto [end, failure] =
        std::from_chars(rest.data() + !rest.empty(), rest.data() + rest.size(), index);
    const bool numbered =
        rest.starts_with(':') && failure == std::errc() && end == rest.data() + rest.size();
    if (rest.empty() || numbered) {
      DOPPEL_ASSIGN(auto process, linux_process(options));
      return Machine{std::move(process), numbered ? std::optional(index) : std::nullopt};
    }
  }
  return error(
      StatusCode::InvalidArgument,
      fmt::format("The device name ({}) is neither kfd[:N] nor mock:MODEL[,option=value].", name));
}

Result<std::unique_ptr<Device>> open_one(const Machine& machine, uint32_t index,
                                         std::string_view name, const OpenOptions& options) {
  const std::string label = machine.index || name.starts_with(kMockPrefix)
                                ? std::string(name)
                                : fmt::format("{}:{}", name, index);
  DOPPEL_ASSIGN(auto device, kfd::KfdDevice::open(machine.process, index, label, options.device));
  return device;
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(std::string_view name, const OpenOptions& options) {
  DOPPEL_ASSIGN(const Machine machine, open_machine(name, options));
  return open_one(machine, machine.index.value_or(0), name, options);
}

Result<std::vector<std::unique_ptr<Device>>> open_devices(std::string_view name,
                                                          const OpenOptions& options) {
  DOPPEL_ASSIGN(const Machine machine, open_machine(name, options));
  std::vector<std::unique_ptr<Device>> devices;
  if (machine.index) {
    DOPPEL_ASSIGN(devices.emplace_back(), open_one(machine, *machine.index, name, options));
    return devices;
  }
  const size_t count = machine.process->topology().gpus().size();
  for (uint32_t index = 0; index < count; ++index) {
    DOPPEL_ASSIGN(devices.emplace_back(), open_one(machine, index, name, options));
  }
  return devices;
}

}  // namespace doppel
