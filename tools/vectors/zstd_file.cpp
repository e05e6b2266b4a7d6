#include "tools/vectors/zstd_file.h"

#include "core/files.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cerrno>
#include <fstream>
#include <memory>

namespace doppel::vectors {
namespace {

constexpr size_t kMaxUnpackedBytes = size_t{1} << 30;

bool is_zstd(const std::vector<std::byte>& bytes) {
  constexpr std::byte magic[] = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f},
                                 std::byte{0xfd}};
  return bytes.size() >= sizeof(magic) && std::equal(std::begin(magic), std::end(magic), &bytes[0]);
}

Result<std::vector<std::byte>> unpack(const std::filesystem::path& path,
                                      const std::vector<std::byte>& packed) {
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  std::vector<std::byte> unpacked;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  size_t wanted = 1;  // 0 once a frame is complete
  while (wanted != 0 || in.pos < in.size) {
    const size_t begin = unpacked.size();
    if (begin > kMaxUnpackedBytes) {
      return error(StatusCode::OutOfRange,
                   fmt::format("The file unpacks to more than 1 GiB ({}).", path.string()));
    }
    unpacked.resize(begin + ZSTD_DStreamOutSize());
    ZSTD_outBuffer out{unpacked.data() + begin, unpacked.size() - begin, 0};
    const bool had_input = in.pos < in.size;
    wanted = ZSTD_decompressStream(context.get(), &out, &in);
    unpacked.resize(begin + out.pos);
    if (ZSTD_isError(wanted) || (wanted != 0 && !had_input && out.pos == 0)) {
      const char* reason = ZSTD_isError(wanted) ? ZSTD_getErrorName(wanted) : "it ends too early";
      return error(
          StatusCode::Malformed,
          fmt::format("The Zstandard file can't be unpacked ({}: {}).", path.string(), reason));
    }
  }
  return unpacked;
}

}  // namespace

Result<std::vector<std::byte>> read_zstd_file(const std::filesystem::path& path) {
  DOPPEL_ASSIGN(auto bytes, read_file(path));
  if (!is_zstd(bytes)) return bytes;
  return unpack(path, bytes);
}

}  // namespace doppel::vectors
