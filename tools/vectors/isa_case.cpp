#include "tools/vectors/isa_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace doppel::vectors {
namespace {

struct RecordHeader {
  uint32_t magic, id, arch, flags;
  std::array<uint32_t, 3> block, grid;
  uint32_t rsrc1, rsrc2, rsrc3, scratch_per_lane, lds_bytes;
  uint32_t name_len, code_len, out_len, body_off, body_len;
  uint32_t layout, wave_size, in_len, ftype, ulp;
};
static_assert(sizeof(RecordHeader) == 100);

constexpr uint32_t kMagic = 0x43455649;  // "IVEC"
constexpr uint32_t kMaxPartBytes = 1 << 24;
constexpr uint32_t kSavedVgprs = 16;
constexpr uint32_t kSavedSgprs = 16;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  bool at_end() const { return offset_ == bytes_.size(); }

  bool take(void* out, size_t size) {
    if (bytes_.size() - offset_ < size) return false;
    if (size != 0) std::memcpy(out, bytes_.data() + offset_, size);
    offset_ += size;
    return true;
  }

  template <class Container>
  bool take_padded(Container& out, uint32_t size) {
    out.resize(size);
    if (!take(out.data(), size)) return false;
    const size_t padding = (4 - size % 4) % 4;
    offset_ = std::min(bytes_.size(), offset_ + padding);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
};

bool known_arch(uint32_t arch) {
  return arch == 3 || arch == 4 || arch == 9;
}

std::string_view inconsistency(const RecordHeader& header) {
  if (header.magic != kMagic) return "its magic is not IVEC";
  if (!known_arch(header.arch)) return "its architecture is unknown";
  if (header.layout > 1) return "its output layout is unknown";
  if (header.ftype > 4) return "its float type is unknown";
  if (header.wave_size != 32 && header.wave_size != 64) return "its wave size is not 32 or 64";
  for (uint32_t size : {header.name_len, header.code_len, header.out_len, header.in_len}) {
    if (size > kMaxPartBytes) return "a part is larger than 16 MiB";
  }
  if (header.body_off > header.code_len || header.body_len > header.code_len - header.body_off) {
    return "the body lies outside the code";
  }
  if (header.code_len % 4 != 0) return "the code is not made of dwords";
  return {};
}

Result<IsaCase> parse_record(Reader& reader) {
  const size_t begin = reader.offset();
  const auto malformed = [begin](std::string_view why) {
    return error(StatusCode::Malformed,
                 fmt::format("A record of the case set is malformed: {} (offset {}).", why, begin));
  };
  RecordHeader header;
  if (!reader.take(&header, sizeof(header))) return malformed("its header is cut");
  if (auto why = inconsistency(header); !why.empty()) return malformed(why);
  IsaCase result{.id = header.id,
                 .arch = static_cast<IsaCaseArch>(header.arch),
                 .flags = header.flags,
                 .block = header.block,
                 .grid = header.grid,
                 .rsrc1 = header.rsrc1,
                 .rsrc2 = header.rsrc2,
                 .rsrc3 = header.rsrc3,
                 .scratch_bytes_per_lane = header.scratch_per_lane,
                 .lds_bytes = header.lds_bytes,
                 .body_offset = header.body_off,
                 .body_size = header.body_len,
                 .layout = static_cast<OutputLayout>(header.layout),
                 .wave_size = header.wave_size,
                 .float_type = static_cast<FloatType>(header.ftype),
                 .ulp = header.ulp};
  if (!reader.take_padded(result.name, header.name_len) ||
      !reader.take_padded(result.code, header.code_len) ||
      !reader.take_padded(result.expected, header.out_len) ||
      !reader.take_padded(result.mask, header.out_len) ||
      !reader.take_padded(result.input, header.in_len)) {
    return malformed("its data is cut");
  }
  return result;
}

}  // namespace

bool IsaCase::hardware_checked() const {
  return std::ranges::find(mask, static_cast<std::byte>(MaskByte::Asserted)) != mask.end();
}

std::string IsaCase::output_name(uint32_t offset) const {
  const uint32_t dword = offset / 4;
  if (layout == OutputLayout::Lanes1) return fmt::format("lane {}", dword);
  const uint32_t lanes = block[0];
  if (lanes != 0 && dword < kSavedVgprs * lanes) {
    return fmt::format("v{} lane {}", dword / lanes, dword % lanes);
  }
  const uint32_t scalar = dword - kSavedVgprs * lanes;
  constexpr std::string_view special[] = {"vcc_lo", "scc", "exec_lo"};
  if (scalar < kSavedSgprs) return fmt::format("s{}", scalar);
  if (scalar - kSavedSgprs < std::size(special)) return std::string(special[scalar - kSavedSgprs]);
  return fmt::format("out[{}]", dword);
}

Result<std::vector<IsaCase>> parse_isa_cases(std::span<const std::byte> set) {
  std::vector<IsaCase> cases;
  for (Reader reader(set); !reader.at_end();) {
    DOPPEL_ASSIGN(auto record, parse_record(reader));
    cases.push_back(std::move(record));
  }
  return cases;
}

}  // namespace doppel::vectors
