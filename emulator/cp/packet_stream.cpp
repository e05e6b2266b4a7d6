#include "emulator/cp/packet_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/status.h"

namespace doppel::emu {
namespace {

std::unexpected<Fault> bad_packet(std::string message) {
  Fault fault;
  fault.message = std::move(message);
  return std::unexpected(std::move(fault));
}

}  // namespace

std::string PacketPlace::to_string() const {
  if (!in_ib) return fmt::format("at dword {} of the ring", ring_position);
  return fmt::format("at dword {} of the IB at 0x{:x}", ib_position, ib_base);
}

std::expected<uint64_t, Fault> PacketStream::available() {
  if (in_ib()) return ibs_.back().dwords - ibs_.back().position;
  auto submitted = ring_.submitted();
  if (!submitted) return std::unexpected(std::move(submitted).error());
  uint64_t dwords = *submitted - ring_.position();
  if (ring_skip_ != 0) {
    const uint64_t skipped = std::min(ring_skip_, dwords);
    DOPPEL_TRY(advance_ring(skipped));
    ring_skip_ -= skipped;
    dwords -= skipped;
  }
  return dwords;
}

std::expected<void, Fault> PacketStream::fetch(std::span<uint32_t> out) {
  if (!in_ib()) return ring_.fetch(0, out);
  const Ib& ib = ibs_.back();
  if (out.size() > ib.dwords - ib.position) {
    return bad_packet(fmt::format(
        "The packet reaches beyond the end of its indirect buffer (packet {} dwords, left {}).",
        out.size(), ib.dwords - ib.position));
  }
  auto done = port_.read(address(), std::as_writable_bytes(out));
  if (!done) {
    Fault fault = to_fault(done.error());
    fault.message = "The indirect buffer can't be read. " + fault.message;
    return std::unexpected(std::move(fault));
  }
  return {};
}

std::expected<void, Fault> PacketStream::advance(uint64_t dwords) {
  if (!in_ib()) return advance_ring(dwords);
  Ib& ib = ibs_.back();
  if (dwords > ib.dwords - ib.position) {
    return bad_packet(
        fmt::format("The stream skips beyond the end of its indirect buffer (skip {} dwords, left "
                    "{}).",
                    dwords, ib.dwords - ib.position));
  }
  ib.position += static_cast<uint32_t>(dwords);
  return settle();
}

std::expected<void, Fault> PacketStream::advance_ring(uint64_t dwords) {
  ring_.advance(dwords);
  if (!options_.reports_position) return {};
  return ring_.report(ring_.position());
}

std::expected<void, Fault> PacketStream::skip(uint64_t packet_dwords, uint64_t dwords) {
  if (in_ib()) return advance(packet_dwords + dwords);
  ring_skip_ += dwords;
  return advance_ring(packet_dwords);
}

std::expected<void, Fault> PacketStream::enter_ib(uint64_t base, uint32_t dwords, bool chain,
                                                  uint64_t packet_dwords) {
  if (base % options_.ib_alignment != 0) {
    Fault fault;
    fault.kind = FaultKind::Misaligned;
    fault.message = fmt::format("The indirect buffer is not aligned to {} bytes (address 0x{:x}).",
                                options_.ib_alignment, base);
    return std::unexpected(std::move(fault));
  }
  if (chain && !in_ib()) {
    return bad_packet(
        "The ring chains to an indirect buffer, which only one within an indirect "
        "buffer may do.");
  }
  called_dwords_ += dwords;
  if (++calls_ > options_.ib_calls || called_dwords_ > options_.ib_total_dwords) {
    return bad_packet(
        fmt::format("The ring packet calls or chains indirect buffers without end ({} of them, {} "
                    "dwords).",
                    calls_, called_dwords_));
  }
  if (chain) {
    ibs_.back() = {base, dwords, 0};
    return settle();
  }
  if (ibs_.size() >= options_.ib_depth) {
    return bad_packet(fmt::format("Indirect buffers are nested too deep (more than {} levels).",
                                  options_.ib_depth));
  }
  if (in_ib()) {
    ibs_.back().position += static_cast<uint32_t>(packet_dwords);
  } else {
    calling_position_ = ring_.position();
    ring_.advance(packet_dwords);
  }
  ibs_.push_back({base, dwords, 0});
  return settle();
}

std::expected<void, Fault> PacketStream::settle() {
  while (in_ib() && ibs_.back().position == ibs_.back().dwords) ibs_.pop_back();
  if (in_ib()) return {};
  calls_ = 0;
  called_dwords_ = 0;
  return advance_ring(0);
}

PacketPlace PacketStream::place() const {
  if (!in_ib()) return {.ring_position = ring_.position()};
  return {calling_position_, ibs_.back().base, ibs_.back().position, true};
}

uint64_t PacketStream::address() const {
  if (in_ib()) return ibs_.back().base + uint64_t{ibs_.back().position} * 4;
  return ring_.address(ring_.position());
}

}  // namespace doppel::emu
