#include "backends/kfd/recording_kernel.h"

#include <sys/ioctl.h>

#include <cstring>
#include <ostream>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/kfd/kfd_abi.h"
#include "backends/kfd/kfd_driver.h"

namespace doppel::kfd {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(uint64_t value) {
  return fmt::format("{:#x}", value);
}

Json dwords(unsigned long request, const void* argument) {
  Json list = Json::array();
  if (argument == nullptr) return list;
  const size_t bytes = _IOC_SIZE(request);
  for (size_t at = 0; at + sizeof(uint32_t) <= bytes; at += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(argument) + at, sizeof word);
    list.push_back(hex(word));
  }
  return list;
}

/// What an argument points to, where that is part of the call: the GPU list of (un)mapping.
void add_indirect(unsigned long request, const void* argument, Json& line) {
  if (argument == nullptr) return;
  if (request != AMDKFD_IOC_MAP_MEMORY_TO_GPU && request != AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU) {
    return;
  }
  static_assert(sizeof(kfd_ioctl_map_memory_to_gpu_args) ==
                sizeof(kfd_ioctl_unmap_memory_from_gpu_args));
  kfd_ioctl_map_memory_to_gpu_args args;
  std::memcpy(&args, argument, sizeof args);
  const auto* ids = reinterpret_cast<const uint32_t*>(args.device_ids_array_ptr);
  if (ids == nullptr) return;
  line["gpus"] = std::vector<uint32_t>(ids, ids + args.n_devices);
}

template <class T>
void add_outcome(const Result<T>& result, Json& line) {
  line["ok"] = result.has_value();
  if (!result) line["error"] = result.error().to_string();
}

}  // namespace

template <class JsonLine>
void RecordingKernel::write(const JsonLine& line) {
  const std::scoped_lock lock(mutex_);
  log_ << line.dump() << '\n';
}

int RecordingKernel::open(const char* path, int flags) {
  const int result = inner().open(path, flags);
  write(Json{{"call", "open"}, {"path", path}, {"flags", flags}, {"rc", result}});
  return result;
}

int RecordingKernel::close(int fd) {
  const int result = inner().close(fd);
  write(Json{{"call", "close"}, {"fd", fd}, {"rc", result}});
  return result;
}

int RecordingKernel::ioctl(int fd, unsigned long request, void* argument) {
  Json line{{"call", "ioctl"},
            {"fd", fd},
            {"name", ioctl_name(request)},
            {"number", _IOC_NR(request)},
            {"in", dwords(request, argument)}};
  add_indirect(request, argument, line);
  const int result = inner().ioctl(fd, request, argument);
  line["out"] = dwords(request, argument);
  line["rc"] = result;
  write(line);
  return result;
}

void* RecordingKernel::mmap(void* address, size_t length, int protection, int flags, int fd,
                            uint64_t offset, int* os_error) {
  void* result = inner().mmap(address, length, protection, flags, fd, offset, os_error);
  Json line{{"call", "mmap"},        {"address", hex(reinterpret_cast<uint64_t>(address))},
            {"length", length},      {"protection", protection},
            {"flags", flags},        {"fd", fd},
            {"offset", hex(offset)}, {"result", hex(reinterpret_cast<uint64_t>(result))}};
  if (result == nullptr) line["errno"] = *os_error;
  write(line);
  return result;
}

int RecordingKernel::munmap(void* address, size_t length) {
  const int result = inner().munmap(address, length);
  write(Json{{"call", "munmap"},
             {"address", hex(reinterpret_cast<uint64_t>(address))},
             {"length", length},
             {"rc", result}});
  return result;
}

Result<std::string> RecordingKernel::read_file(const std::string& path) {
  Result<std::string> result = inner().read_file(path);
  Json line{{"call", "read_file"}, {"path", path}};
  add_outcome(result, line);
  if (result) line["text"] = *result;
  write(line);
  return result;
}

Result<std::vector<std::string>> RecordingKernel::list_dir(const std::string& path) {
  Result<std::vector<std::string>> result = inner().list_dir(path);
  Json line{{"call", "list_dir"}, {"path", path}};
  add_outcome(result, line);
  if (result) line["names"] = *result;
  write(line);
  return result;
}

Result<RenderNodeInfo> RecordingKernel::render_node_info(int fd) {
  Result<RenderNodeInfo> result = inner().render_node_info(fd);
  Json line{{"call", "render_node_info"}, {"fd", fd}};
  add_outcome(result, line);
  if (result) {
    line["driver"] = fmt::format("{} {}.{}.{}", result->driver_name, result->driver_major,
                                 result->driver_minor, result->driver_patch);
    line["marketing_name"] = result->marketing_name;
    line["device_id"] = hex(result->device_id);
    line["vram_bytes"] = result->vram_bytes;
    line["visible_vram_bytes"] = result->visible_vram_bytes;
  }
  write(line);
  return result;
}

}  // namespace doppel::kfd
