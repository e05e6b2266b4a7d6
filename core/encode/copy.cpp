// Linear copies, split so that each packet's count fits every generation.
#include <algorithm>

#include <fmt/format.h>

#include "core/command_encoder.h"
#include "core/encode/cache_control.h"

namespace doppel {
namespace {

void append_gcr(CommandStream& stream, void (*set)(sdma::GcrReq&)) {
  if (!sdma::kGcrReqLength.in(stream.family()).present()) return;
  sdma::GcrReq packet(stream.family());
  set(packet);
  stream.append(packet);
}

uint32_t parts_of(uint64_t bytes, uint64_t max_part) {
  return static_cast<uint32_t>((bytes + max_part - 1) / max_part);
}

}  // namespace

void CopyPatch::set_dst(std::span<uint32_t> dwords, uint64_t address) const {
  for (uint32_t part = 0; part < parts; ++part) {
    dst.moved(part * stride).set(dwords, address + part * max_part);
  }
}

void CopyPatch::set_src(std::span<uint32_t> dwords, uint64_t address) const {
  DOPPEL_ASSERT(src, "a fill has no source");
  for (uint32_t part = 0; part < parts; ++part) {
    src.moved(part * stride).set(dwords, address + part * max_part);
  }
}

Result<> CopyPatch::set_bytes(std::span<uint32_t> dwords, uint64_t new_bytes) {
  if (new_bytes == 0 || new_bytes % count_bias != 0 || parts_of(new_bytes, max_part) != parts) {
    return error(
        StatusCode::InvalidArgument,
        fmt::format("The recorded transfer has {} packets and cannot be patched to another "
                    "size ({} bytes, was {}).",
                    parts, new_bytes, bytes));
  }
  // Every part but the last is full whatever the size.
  const uint64_t last = new_bytes - (parts - 1) * max_part;
  count.moved((parts - 1) * stride).set(dwords, static_cast<uint32_t>(last - count_bias));
  bytes = new_bytes;
  return {};
}

CopyPatch SdmaEncoder::copy(uint64_t dst, uint64_t src, uint64_t bytes) {
  using Packet = sdma::CopyLinear;
  append_gcr(stream_, set_copy_acquire);
  CopyPatch patch;
  patch.max_part = max_transfer_;
  patch.bytes = bytes;
  for (uint64_t done = 0; done < bytes; done += max_transfer_) {
    const uint64_t part = std::min(bytes - done, max_transfer_);
    const uint32_t packet = stream_.append(Packet(stream_.family())
                                               .count(static_cast<uint32_t>(part - 1))
                                               .src_address(src + done)
                                               .dst_address(dst + done));
    if (patch.parts++ == 0) {
      patch.dst = stream_.patch<uint64_t>(packet, Packet::dst_address_field);
      patch.src = stream_.patch<uint64_t>(packet, Packet::src_address_field);
      patch.count = stream_.patch<uint32_t>(packet, Packet::count_field);
      patch.stride = static_cast<uint32_t>(stream_.size()) - packet;
    }
  }
  append_gcr(stream_, set_copy_release);
  return patch;
}

}  // namespace doppel
