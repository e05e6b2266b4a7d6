#include "backends/kfd/call_log.h"

#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/kfd/kfd_abi.h"

namespace doppel::kfd {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kMostGpus = 1024;  // listed of one call

std::string hex_address(const void* address) {
  return hex(reinterpret_cast<uint64_t>(address));
}

/// Words of the caller's memory; none if any of them can't be read.
std::vector<uint32_t> read_words(const void* address, size_t count) {
  std::vector<uint32_t> words(count);
  const size_t bytes = count * sizeof words[0];
  iovec local{words.data(), bytes};
  iovec remote{const_cast<void*>(address), bytes};
  if (bytes == 0 ||
      process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes))
    return {};
  return words;
}

Json dwords(unsigned long request, const void* argument) {
  Json list = Json::array();
  for (uint32_t word : read_words(argument, _IOC_SIZE(request) / sizeof(uint32_t)))
    list.push_back(hex(word));
  return list;
}

/// What an argument points to, where that is part of the call: the GPU list of (un)mapping.
void add_indirect(unsigned long request, const void* argument, Json& line) {
  if (request != AMDKFD_IOC_MAP_MEMORY_TO_GPU && request != AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU)
    return;
  static_assert(sizeof(kfd_ioctl_map_memory_to_gpu_args) ==
                sizeof(kfd_ioctl_unmap_memory_from_gpu_args));
  kfd_ioctl_map_memory_to_gpu_args args{};
  const auto words = read_words(argument, sizeof args / sizeof(uint32_t));
  if (words.empty()) return;
  std::copy_n(reinterpret_cast<const std::byte*>(words.data()), sizeof args,
              reinterpret_cast<std::byte*>(&args));
  line["gpus"] = read_words(reinterpret_cast<const void*>(args.device_ids_array_ptr),
                            std::min(args.n_devices, kMostGpus));
}

}  // namespace

std::string hex(uint64_t value) {
  return fmt::format("{:#x}", value);
}

void CallLog::write(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  log_ << line << '\n' << std::flush;
}

void CallLog::open(const char* path, int flags, int result) {
  write(Json{{"call", "open"}, {"path", path}, {"flags", flags}, {"rc", result}}.dump());
}

void CallLog::close(int fd, int result) {
  write(Json{{"call", "close"}, {"fd", fd}, {"rc", result}}.dump());
}

int CallLog::ioctl(int fd, unsigned long request, const void* argument,
                   const std::function<int()>& call) {
  Json line{{"call", "ioctl"},
            {"fd", fd},
            {"name", name_(request)},
            {"number", _IOC_NR(request)},
            {"in", dwords(request, argument)}};
  add_indirect(request, argument, line);
  const int result = call();
  line["out"] = dwords(request, argument);
  line["rc"] = result;
  write(line.dump());
  return result;
}

void CallLog::mmap(const void* address, size_t length, int protection, int flags, int fd,
                   uint64_t offset, const void* result, int os_error) {
  Json line{{"call", "mmap"},        {"address", hex_address(address)},
            {"length", length},      {"protection", protection},
            {"flags", flags},        {"fd", fd},
            {"offset", hex(offset)}, {"result", hex_address(result)}};
  if (os_error != 0) line["errno"] = os_error;
  write(line.dump());
}

void CallLog::munmap(const void* address, size_t length, int result) {
  write(Json{
      {"call", "munmap"}, {"address", hex_address(address)}, {"length", length}, {"rc", result}}
            .dump());
}

}  // namespace doppel::kfd
