#include "emulator/cp/packet_stream.h"

#include <fmt/format.h>

namespace doppel::emu {
namespace {

std::unexpected<Fault> bad_packet(std::string message) {
  Fault fault;
  fault.message = std::move(message);
  return std::unexpected(std::move(fault));
}

}  // namespace

std::expected<uint64_t, Fault> PacketStream::available() {
  if (in_ib()) return ibs_.back().dwords - ibs_.back().position;
  auto submitted = ring_.submitted();
  if (!submitted) return std::unexpected(std::move(submitted).error());
  return *submitted > ring_.position() ? *submitted - ring_.position() : 0;
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
  if (!in_ib()) {
    ring_.advance(dwords);
    return ring_.report(ring_.position());
  }
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

std::expected<void, Fault> PacketStream::enter_ib(uint64_t base, uint32_t dwords, bool chain,
                                                  uint64_t packet_dwords) {
  if (base % limits_.ib_alignment != 0) {
    Fault fault;
    fault.kind = FaultKind::Misaligned;
    fault.message = fmt::format("The indirect buffer is not aligned to {} bytes (address 0x{:x}).",
                                limits_.ib_alignment, base);
    return std::unexpected(std::move(fault));
  }
  if (chain && !in_ib()) {
    return bad_packet(
        "The ring chains to an indirect buffer, which only one within an indirect "
        "buffer may do.");
  }
  if (++chains_ > limits_.ib_chains) {
    return bad_packet(
        fmt::format("The ring packet calls or chains indirect buffers without end (more than {}).",
                    limits_.ib_chains));
  }
  if (chain) {
    ibs_.back() = {base, dwords, 0};
    return settle();
  }
  if (ibs_.size() >= limits_.ib_depth) {
    return bad_packet(fmt::format("Indirect buffers are nested too deep (more than {} levels).",
                                  limits_.ib_depth));
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
  chains_ = 0;
  return ring_.report(ring_.position());
}

uint64_t PacketStream::ring_position() const {
  return in_ib() ? calling_position_ : ring_.position();
}

std::string PacketStream::ib_location() const {
  if (!in_ib()) return "";
  return fmt::format(" in the IB at 0x{:x}, dword {}", ibs_.back().base, ibs_.back().position);
}

uint64_t PacketStream::address() const {
  if (in_ib()) return ibs_.back().base + uint64_t{ibs_.back().position} * 4;
  return ring_.address(ring_.position());
}

}  // namespace doppel::emu
