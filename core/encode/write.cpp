// Data carried by the packet itself.
#include <fmt/format.h>

#include "core/command_encoder.h"

namespace doppel {

void SdmaEncoder::write(uint64_t dst, std::span<const uint32_t> dwords) {
  using Packet = sdma::WriteLinear;
  const uint64_t max_dwords = Packet::count_field.in(stream_.family()).max() + 1;
  if (dst % sizeof(uint32_t) != 0 || dwords.empty() || dwords.size() > max_dwords) {
    stream_.fail(Status(StatusCode::InvalidArgument,
                        fmt::format("A write stores 1 to {} dwords at a multiple of 4, and this "
                                    "one does not (0x{:x}, {} dwords).",
                                    max_dwords, dst, dwords.size())));
    return;
  }
  stream_.append(Packet(stream_.family())
                     .dst_address(dst)
                     .count(static_cast<uint32_t>(dwords.size() - 1))
                     .payload(dwords));
}

}  // namespace doppel
