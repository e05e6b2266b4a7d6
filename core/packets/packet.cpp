#include "core/packets/packet.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/packets/validate.h"

namespace doppel::packets {
namespace {

Problem structural(ProblemKind kind, std::string message) {
  Problem problem;
  problem.kind = kind;
  problem.message = std::move(message);
  return problem;
}

void check_size(Packet& packet, std::span<const uint32_t> stream) {
  packet.dwords = stream.first(std::min<size_t>(packet.size, stream.size()));
  if (packet.size > stream.size() && !packet.error) {
    packet.error = structural(ProblemKind::Truncated,
                              fmt::format("The stream ends inside {} ({} of {} dwords are there).",
                                          packet.name(), stream.size(), packet.size));
  }
}

void check_row(Packet& packet) {
  if (!packet.row) {
    packet.error = structural(ProblemKind::UnknownPacket,
                              fmt::format("The packet is unknown ({}).", packet.name()));
  } else if (!packet.row->length.in(packet.family).present()) {
    packet.error = structural(ProblemKind::AbsentInFamily,
                              fmt::format("The packet does not exist on this GPU ({} on {}).",
                                          packet.row->name, to_string(packet.family)));
  }
}

void check_count(Packet& packet) {
  if (packet.error || packet.row->length.in(packet.family).accepts(packet.size)) return;
  packet.error = structural(ProblemKind::BadCount,
                            fmt::format("{} cannot have the length that its header gives ({} "
                                        "dwords).",
                                        packet.row->name, packet.size));
}

void find_pm4(Packet& packet, std::span<const uint32_t> stream) {
  const pm4::Header header{stream[0]};
  if (header.type() == 2) {
    packet.row = pm4::find_row(pm4::kNopOpcode);
    packet.size = 1;
  } else if (header.type() != 3) {
    packet.dwords = stream.first(1);
    packet.error = structural(
        ProblemKind::BadHeader,
        fmt::format("The header's packet type is neither 2 nor 3 (0x{:08x}).", header.value));
    return;
  } else {
    packet.row = pm4::find_row(header.opcode());
    packet.size = header.dwords();
    packet.dwords = stream.first(1);
    check_row(packet);
    check_count(packet);
  }
  check_size(packet, stream);
}

void find_sdma(Packet& packet, std::span<const uint32_t> stream) {
  const sdma::Header header{stream[0]};
  packet.row = sdma::find_row(header.op(), header.sub_op());
  packet.dwords = stream.first(1);
  check_row(packet);
  if (packet.error) return;
  // The count that gives the length may itself lie beyond the end of the stream.
  packet.size = packet.row->length.in(packet.family).fixed();
  if (packet.size <= stream.size()) {
    packet.size += packet.row->payload_dwords(stream.first(packet.size), packet.family);
  }
  check_size(packet, stream);
}

void find_aql(Packet& packet, std::span<const uint32_t> stream) {
  const aql::Header header{stream[0]};
  packet.row = aql::find_row(header.type(), header.amd_format());
  packet.size = aql::kPacketDwords;
  packet.dwords = stream.first(1);
  check_row(packet);
  check_size(packet, stream);
}

}  // namespace

std::string_view to_string(Language language) {
  switch (language) {
    case Language::Pm4:
      return "PM4";
    case Language::Sdma:
      return "SDMA";
    case Language::Aql:
      return "AQL";
  }
  return "?";
}

std::string_view to_string(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::Truncated:
      return "Truncated";
    case ProblemKind::UnknownPacket:
      return "UnknownPacket";
    case ProblemKind::AbsentInFamily:
      return "AbsentInFamily";
    case ProblemKind::BadHeader:
      return "BadHeader";
    case ProblemKind::BadCount:
      return "BadCount";
    case ProblemKind::ReservedBits:
      return "ReservedBits";
    case ProblemKind::UnknownValue:
      return "UnknownValue";
    case ProblemKind::Misaligned:
      return "Misaligned";
    case ProblemKind::Lint:
      return "Lint";
  }
  return "?";
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return "note";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      return "error";
  }
  return "?";
}

std::string Packet::name() const {
  if (row) return std::string(row->name);
  const uint32_t first = dwords.empty() ? 0 : dwords[0];
  switch (language) {
    case Language::Pm4: {
      const uint32_t opcode = pm4::Header{first}.opcode();
      const std::string_view known = pm4::opcode_name(opcode, family);
      return known.empty() ? fmt::format("PM4 opcode 0x{:02x}", opcode) : std::string(known);
    }
    case Language::Sdma: {
      const sdma::Header header{first};
      const std::string_view known = sdma::op_name(header.op());
      return known.empty() ? fmt::format("SDMA op {} sub-op {}", header.op(), header.sub_op())
                           : fmt::format("{} sub-op {}", known, header.sub_op());
    }
    case Language::Aql: {
      const aql::Header header{first};
      if (header.type() == 0) return fmt::format("AQL vendor format {}", header.amd_format());
      if (header.type() == 1) return "AQL INVALID";
      return fmt::format("AQL type {}", header.type());
    }
  }
  return "?";
}

std::span<const uint32_t> Packet::payload() const {
  if (!row || error || row->length.in(family).max != kUnbounded) return {};
  return dwords.subspan(row->length.in(family).fixed());
}

Packet next_packet(Language language, std::span<const uint32_t> stream, GfxFamily family) {
  DOPPEL_ASSERT(!stream.empty(), "there is no packet in an empty stream");
  Packet packet;
  packet.language = language;
  packet.family = family;
  switch (language) {
    case Language::Pm4:
      find_pm4(packet, stream);
      break;
    case Language::Sdma:
      find_sdma(packet, stream);
      break;
    case Language::Aql:
      find_aql(packet, stream);
      break;
  }
  return packet;
}

PacketCursor::PacketCursor(Language language, std::span<const uint32_t> stream, GfxFamily family)
    : language_(language), family_(family), stream_(stream) {
  load();
}

void PacketCursor::load() {
  if (!done()) packet_ = next_packet(language_, stream_.subspan(offset_), family_);
}

void PacketCursor::advance() {
  const size_t left = stream_.size() - offset_;
  offset_ += packet_.size == 0 || packet_.size > left ? left : packet_.size;
  load();
}

bool PacketCursor::plausible(size_t offset) const {
  constexpr int kEnough = 3;  // packets in a row: dwords of data rarely look like that
  for (int found = 0; found < kEnough && offset < stream_.size(); ++found) {
    const Packet packet = next_packet(language_, stream_.subspan(offset), family_);
    if (!packet.ok() || !is_valid(packet)) return false;
    offset += packet.size;
  }
  return true;
}

size_t PacketCursor::resync() {
  const size_t start = offset_;
  const size_t step = language_ == Language::Aql ? aql::kPacketDwords : 1;
  do {
    offset_ = std::min(offset_ + step, stream_.size());
  } while (!done() && !plausible(offset_));
  load();
  return offset_ - start;
}

}  // namespace doppel::packets
