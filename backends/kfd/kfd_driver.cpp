#include "backends/kfd/kfd_driver.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace doppel::kfd {
namespace {

constexpr const char* kKfdPath = "/dev/kfd";
constexpr uint32_t kVersionMajor = 1;

struct IoctlName {
  unsigned long request;
  std::string_view name;
};

constexpr std::array kIoctlNames = {
    IoctlName{AMDKFD_IOC_GET_VERSION, "GET_VERSION"},
    IoctlName{AMDKFD_IOC_CREATE_QUEUE, "CREATE_QUEUE"},
    IoctlName{AMDKFD_IOC_DESTROY_QUEUE, "DESTROY_QUEUE"},
    IoctlName{AMDKFD_IOC_SET_MEMORY_POLICY, "SET_MEMORY_POLICY"},
    IoctlName{AMDKFD_IOC_GET_CLOCK_COUNTERS, "GET_CLOCK_COUNTERS"},
    IoctlName{AMDKFD_IOC_UPDATE_QUEUE, "UPDATE_QUEUE"},
    IoctlName{AMDKFD_IOC_CREATE_EVENT, "CREATE_EVENT"},
    IoctlName{AMDKFD_IOC_DESTROY_EVENT, "DESTROY_EVENT"},
    IoctlName{AMDKFD_IOC_SET_EVENT, "SET_EVENT"},
    IoctlName{AMDKFD_IOC_RESET_EVENT, "RESET_EVENT"},
    IoctlName{AMDKFD_IOC_WAIT_EVENTS, "WAIT_EVENTS"},
    IoctlName{AMDKFD_IOC_SET_SCRATCH_BACKING_VA, "SET_SCRATCH_BACKING_VA"},
    IoctlName{AMDKFD_IOC_GET_TILE_CONFIG, "GET_TILE_CONFIG"},
    IoctlName{AMDKFD_IOC_SET_TRAP_HANDLER, "SET_TRAP_HANDLER"},
    IoctlName{AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, "GET_PROCESS_APERTURES_NEW"},
    IoctlName{AMDKFD_IOC_ACQUIRE_VM, "ACQUIRE_VM"},
    IoctlName{AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, "ALLOC_MEMORY_OF_GPU"},
    IoctlName{AMDKFD_IOC_FREE_MEMORY_OF_GPU, "FREE_MEMORY_OF_GPU"},
    IoctlName{AMDKFD_IOC_MAP_MEMORY_TO_GPU, "MAP_MEMORY_TO_GPU"},
    IoctlName{AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, "UNMAP_MEMORY_FROM_GPU"},
    IoctlName{AMDKFD_IOC_SET_XNACK_MODE, "SET_XNACK_MODE"},
    IoctlName{AMDKFD_IOC_AVAILABLE_MEMORY, "AVAILABLE_MEMORY"},
    IoctlName{abi::kRuntimeEnableRequest, "RUNTIME_ENABLE"},
};

std::string open_failure(const std::string& path, int os_error) {
  switch (os_error) {
    case ENOENT:
      return fmt::format(
          "There is no {}: the amdgpu driver is not loaded, or this machine has no "
          "AMD GPU.",
          path);
    case EACCES:
    case EPERM:
      return fmt::format(
          "{} may not be opened: the user is not in the group (render) that owns "
          "it.",
          path);
    default:
      return fmt::format("{} does not open.", path);
  }
}

}  // namespace

std::string_view ioctl_name(unsigned long request) {
  auto row = std::ranges::find(kIoctlNames, request, &IoctlName::request);
  return row == kIoctlNames.end() ? "?" : row->name;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(kernel_, other.kernel_);
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) kernel_->close(fd_);
}

Result<Descriptor> Descriptor::open(std::shared_ptr<KernelAbi> kernel, const std::string& path) {
  int fd = -EINTR;
  while (fd == -EINTR) fd = kernel->open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return error(StatusCode::Unavailable, open_failure(path, -fd), -fd);
  return Descriptor(std::move(kernel), fd);
}

Result<std::shared_ptr<KfdDriver>> KfdDriver::open(std::shared_ptr<KernelAbi> kernel) {
  DOPPEL_ASSIGN(Descriptor kfd, Descriptor::open(kernel, kKfdPath));
  std::shared_ptr<KfdDriver> driver(new KfdDriver(std::move(kernel), std::move(kfd)));
  kfd_ioctl_get_version_args version{};
  DOPPEL_TRY(driver->call(AMDKFD_IOC_GET_VERSION, version, "tell its version"));
  if (version.major_version != kVersionMajor) {
    return error(StatusCode::Unsupported,
                 fmt::format("The driver's ABI version ({}.{}) is not {}.x.", version.major_version,
                             version.minor_version, kVersionMajor));
  }
  driver->major_ = version.major_version;
  driver->minor_ = version.minor_version;
  return driver;
}

Result<> KfdDriver::call_raw(unsigned long request, void* args, std::string_view what) const {
  int result = -EINTR;
  while (result == -EINTR || result == -EAGAIN) {
    result = kernel_->ioctl(kfd_.get(), request, args);
    if (result == -EAGAIN) kernel_->relax();
  }
  if (result >= 0) return {};
  return std::unexpected(status_from_errno(
      -result, fmt::format("The driver refuses to {} ({}).", what, ioctl_name(request))));
}

}  // namespace doppel::kfd
