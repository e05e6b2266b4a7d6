#include "core/command_stream.h"

#include <fmt/format.h>

namespace doppel {

uint32_t CommandStream::append_packet(std::span<const uint32_t> fixed,
                                      std::span<const uint32_t> payload) {
  const auto start = static_cast<uint32_t>(dwords_.size());
  const size_t added = fixed.size() + payload.size();
  if (error_) return start;
  if (added > capacity_ - dwords_.size()) {
    fail(Status(StatusCode::Exhausted,
                fmt::format("The command stream is full ({} of {} dwords used, {} more needed).",
                            dwords_.size(), capacity_, added)));
    return start;
  }
  packet_starts_.push_back(start);
  dwords_.insert(dwords_.end(), fixed.begin(), fixed.end());
  dwords_.insert(dwords_.end(), payload.begin(), payload.end());
  return start;
}

void CommandStream::mark_address(uint32_t packet, uint32_t dword, uint8_t shift) {
  if (packet + dword + 1 < dwords_.size()) address_marks_.push_back({packet + dword, shift});
}

void CommandStream::fail(Status status) {
  if (!error_) error_ = std::move(status);
}

Result<> CommandStream::check() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

void CommandStream::clear() {
  dwords_.clear();
  packet_starts_.clear();
  address_marks_.clear();
  error_.reset();
}

}  // namespace doppel
