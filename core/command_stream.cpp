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

void CommandStream::append_stream(const CommandStream& other) {
  DOPPEL_ASSERT(language_ == other.language_ && family_ == other.family_,
                "streams of different languages or families can't be joined");
  const auto moved_by = static_cast<uint32_t>(dwords_.size());
  for (size_t packet = 0; packet < other.packet_starts_.size(); ++packet) {
    const size_t begin = other.packet_starts_[packet];
    const size_t end = packet + 1 < other.packet_starts_.size() ? other.packet_starts_[packet + 1]
                                                                : other.dwords_.size();
    append_packet(std::span(other.dwords_).subspan(begin, end - begin), {});
  }
  for (const packets::AddressMark& mark : other.address_marks_)
    address_marks_.push_back({mark.dword + moved_by, mark.shift});
  if (other.error_) fail(*other.error_);
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
