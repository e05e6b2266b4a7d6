// Constant fills.
#include <algorithm>

#include <fmt/format.h>

#include "core/command_encoder.h"

namespace doppel {

void CopyPatch::set_value(std::span<uint32_t> dwords, uint32_t new_value) const {
  DOPPEL_ASSERT(value, "a copy has no value");
  for (uint32_t part = 0; part < parts; ++part) value.moved(part * stride).set(dwords, new_value);
}

CopyPatch SdmaEncoder::fill(uint64_t dst, uint32_t value, uint64_t bytes) {
  using Packet = sdma::ConstantFill;
  constexpr uint32_t kElement = 4;
  CopyPatch patch;
  patch.max_part = max_transfer_;
  patch.bytes = bytes;
  patch.count_bias = kElement;
  if (dst % kElement != 0 || bytes % kElement != 0) {
    stream_.fail(Status(StatusCode::InvalidArgument,
                        fmt::format("A fill repeats 32 bits, and its range is not made of such "
                                    "(0x{:x}, {} bytes).",
                                    dst, bytes)));
    return patch;
  }
  for (uint64_t done = 0; done < bytes; done += max_transfer_) {
    const uint64_t part = std::min(bytes - done, max_transfer_);
    const uint32_t packet = stream_.append(Packet(stream_.family())
                                               .fillsize(sdma::FillSize::DWORD)
                                               .dst_address(dst + done)
                                               .src_data(value)
                                               .count(static_cast<uint32_t>(part - kElement)));
    if (patch.parts++ == 0) {
      patch.dst = stream_.patch<uint64_t>(packet, Packet::dst_address_field);
      patch.count = stream_.patch<uint32_t>(packet, Packet::count_field);
      patch.value = stream_.patch<uint32_t>(packet, Packet::src_data_field);
      patch.stride = static_cast<uint32_t>(stream_.size()) - packet;
    }
  }
  return patch;
}

}  // namespace doppel
