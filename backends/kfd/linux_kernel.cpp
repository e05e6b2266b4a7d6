#include "backends/kfd/linux_kernel.h"

#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <fmt/format.h>

namespace doppel::kfd {
namespace {

struct DrmVersionFree {
  void operator()(drmVersionPtr version) const { drmFreeVersion(version); }
};
struct AmdgpuDeinitialize {
  void operator()(amdgpu_device_handle device) const { amdgpu_device_deinitialize(device); }
};
struct DirectoryClose {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::unexpected<Status> file_error(const std::string& path, int os_error) {
  const StatusCode code = os_error == ENOENT ? StatusCode::NotFound : StatusCode::System;
  return error(code, fmt::format("The file can't be read ({}).", path), os_error);
}

}  // namespace

uint64_t LinuxKernel::now_ns() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

int LinuxKernel::open(const char* path, int flags) {
  const int fd = ::open(path, flags);
  return fd >= 0 ? fd : -errno;
}

int LinuxKernel::close(int fd) {
  return ::close(fd) == 0 ? 0 : -errno;
}

int LinuxKernel::ioctl(int fd, unsigned long request, void* argument) {
  const int result = ::ioctl(fd, request, argument);
  return result >= 0 ? result : -errno;
}

void* LinuxKernel::mmap(void* address, size_t length, int protection, int flags, int fd,
                        uint64_t offset, int* os_error) {
  void* result = ::mmap(address, length, protection, flags, fd, static_cast<off_t>(offset));
  if (result != MAP_FAILED) return result;
  *os_error = errno;
  return nullptr;
}

int LinuxKernel::munmap(void* address, size_t length) {
  return ::munmap(address, length) == 0 ? 0 : -errno;
}

Result<std::string> LinuxKernel::read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return file_error(path, errno);
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t count = 0;
  while ((count = ::read(fd, buffer.data(), buffer.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  const int os_error = count < 0 ? errno : 0;
  ::close(fd);
  if (os_error != 0) return file_error(path, os_error);
  return text;
}

Result<std::vector<std::string>> LinuxKernel::list_dir(const std::string& path) {
  const std::unique_ptr<DIR, DirectoryClose> directory(opendir(path.c_str()));
  if (directory == nullptr) return file_error(path, errno);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

Result<RenderNodeInfo> LinuxKernel::render_node_info(int fd) {
  const std::unique_ptr<drmVersion, DrmVersionFree> version(drmGetVersion(fd));
  if (version == nullptr) {
    return error(StatusCode::System, "The render node does not tell its driver's version.", errno);
  }
  RenderNodeInfo info;
  info.driver_name.assign(version->name, static_cast<size_t>(version->name_len));
  info.driver_major = version->version_major;
  info.driver_minor = version->version_minor;
  info.driver_patch = version->version_patchlevel;

  uint32_t major = 0;
  uint32_t minor = 0;
  amdgpu_device_handle handle = nullptr;
  if (const int result = amdgpu_device_initialize(fd, &major, &minor, &handle); result != 0) {
    return std::unexpected(status_from_errno(
        -result, fmt::format("libdrm_amdgpu does not accept the render node (driver {} {}.{}).",
                             info.driver_name, info.driver_major, info.driver_minor)));
  }
  const std::unique_ptr<std::remove_pointer_t<amdgpu_device_handle>, AmdgpuDeinitialize> device(
      handle);
  if (const char* name = amdgpu_get_marketing_name(handle)) info.marketing_name = name;

  amdgpu_gpu_info gpu{};
  if (const int result = amdgpu_query_gpu_info(handle, &gpu); result != 0) {
    return std::unexpected(status_from_errno(-result, "The render node tells nothing of its GPU."));
  }
  info.device_id = gpu.asic_id;
  info.pci_revision = gpu.pci_rev_id;
  info.external_revision = gpu.chip_external_rev;

  drm_amdgpu_info_vram_gtt memory{};
  if (const int result = amdgpu_query_info(handle, AMDGPU_INFO_VRAM_GTT, sizeof memory, &memory);
      result != 0) {
    return std::unexpected(
        status_from_errno(-result, "The render node tells nothing of its memory."));
  }
  info.vram_bytes = memory.vram_size;
  info.visible_vram_bytes = memory.vram_cpu_accessible_size;
  return info;
}

Relax LinuxKernel::relax() {
  sched_yield();
  return Relax::Again;
}

}  // namespace doppel::kfd
