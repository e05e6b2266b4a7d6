#include "backends/kfd/recording_kernel.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace doppel::kfd {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void add_outcome(const Result<T>& result, Json& line) {
  line["ok"] = result.has_value();
  if (!result) line["error"] = result.error().to_string();
}

}  // namespace

int RecordingKernel::open(const char* path, int flags) {
  const int result = inner().open(path, flags);
  log_.open(path, flags, result);
  return result;
}

int RecordingKernel::close(int fd) {
  const int result = inner().close(fd);
  log_.close(fd, result);
  return result;
}

int RecordingKernel::ioctl(int fd, unsigned long request, void* argument) {
  return log_.ioctl(fd, request, argument, [&] { return inner().ioctl(fd, request, argument); });
}

void* RecordingKernel::mmap(void* address, size_t length, int protection, int flags, int fd,
                            uint64_t offset, int* os_error) {
  void* result = inner().mmap(address, length, protection, flags, fd, offset, os_error);
  log_.mmap(address, length, protection, flags, fd, offset, result,
            result == nullptr ? *os_error : 0);
  return result;
}

int RecordingKernel::munmap(void* address, size_t length) {
  const int result = inner().munmap(address, length);
  log_.munmap(address, length, result);
  return result;
}

Result<std::string> RecordingKernel::read_file(const std::string& path) {
  Result<std::string> result = inner().read_file(path);
  Json line{{"call", "read_file"}, {"path", path}};
  add_outcome(result, line);
  if (result) line["text"] = *result;
  log_.write(line.dump());
  return result;
}

Result<std::vector<std::string>> RecordingKernel::list_dir(const std::string& path) {
  Result<std::vector<std::string>> result = inner().list_dir(path);
  Json line{{"call", "list_dir"}, {"path", path}};
  add_outcome(result, line);
  if (result) line["names"] = *result;
  log_.write(line.dump());
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
  log_.write(line.dump());
  return result;
}

}  // namespace doppel::kfd
