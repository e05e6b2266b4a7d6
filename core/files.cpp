#include "core/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace doppel {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

template <class Container>
Result<Container> read_whole(const std::filesystem::path& path, uint64_t limit) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return error(StatusCode::NotFound, fmt::format("The file can't be read ({}).", path.string()));
  }
  Container bytes;
  while (stream && bytes.size() < limit) {
    const size_t had = bytes.size();
    const uint64_t wanted = std::min(limit - had, std::max<uint64_t>(kChunkBytes, had));
    bytes.resize(had + wanted);
    // Unlike the buffer beneath, the stream turns an error into a state.
    stream.read(reinterpret_cast<char*>(bytes.data()) + had, static_cast<std::streamsize>(wanted));
    bytes.resize(had + static_cast<size_t>(stream.gcount()));
  }
  if (stream.bad()) {
    return error(StatusCode::System, fmt::format("The file can't be read ({}).", path.string()));
  }
  if (bytes.size() > kMaxFileBytes) {
    return error(StatusCode::OutOfRange, fmt::format("The file has more than {} bytes ({}).",
                                                     kMaxFileBytes, path.string()));
  }
  return bytes;
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, uint64_t limit) {
  return read_whole<std::vector<std::byte>>(path, limit);
}

Result<std::string> read_text_file(const std::filesystem::path& path) {
  return read_whole<std::string>(path, kMaxFileBytes + 1);
}

}  // namespace doppel
