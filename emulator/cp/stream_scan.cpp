// StreamQueue::visit_queued: walks what a queue has not reached yet, for reports.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/cp/foreseen_writes.h"
#include "emulator/cp/stream_queue.h"

namespace doppel::emu {
namespace {

constexpr uint64_t kScannedDwords = 256 * 1024;  // of one queue
constexpr uint32_t kScannedDepth = 2;            // IBs within IBs

struct IbRange {
  uint64_t base = 0;
  uint64_t dwords = 0;
};

/// The indirect buffer that a packet calls, if any.
IbRange called_ib(const packets::Packet& packet) {
  if (packet.pm4_id() == pm4::Id::IndirectBuffer) {
    const auto view = packet.as<pm4::IndirectBuffer>();
    return {view.ib_base(), view.ib_size()};
  }
  if (packet.sdma_id() == sdma::Id::Indirect) {
    const auto view = packet.as<sdma::Indirect>();
    return {view.ib_base(), view.ib_size()};
  }
  if (packet.aql_id() == aql::Id::VendorPm4Ib) {
    const auto inner =
        packets::next_packet(packets::Language::Pm4, packet.dwords.subspan(1, 4), packet.family);
    if (inner.ok()) return called_ib(inner);
  }
  return {};
}

class StreamScan {
 public:
  StreamScan(MemoryPort& port, GfxFamily family, const HardwareQueue::QueuedVisitor& visit)
      : port_(port), family_(family), visit_(visit) {}

  void dwords(packets::Language language, std::span<const uint32_t> stream, PacketPlace place,
              uint32_t depth) {
    packets::PacketCursor cursor(language, stream, family_);
    for (; !cursor.done(); cursor.advance()) {
      const packets::Packet& packet = cursor.packet();
      if (!packet.ok()) continue;
      PacketPlace here = place;
      if (place.in_ib) {
        here.ib_position += static_cast<uint32_t>(cursor.offset());
      } else {
        here.ring_position += cursor.offset();
      }
      visit_(packet, here);
      const IbRange ib = called_ib(packet);
      if (ib.dwords != 0 && depth < kScannedDepth) {
        this->ib(inner_language(language), ib, {here.ring_position, ib.base, 0, true}, depth + 1);
      }
    }
  }

  void ib(packets::Language language, IbRange range, const PacketPlace& place, uint32_t depth) {
    std::vector<uint32_t> stream(std::min(range.dwords, left_));
    left_ -= stream.size();
    if (!port_.read(range.base, std::as_writable_bytes(std::span(stream)))) return;
    dwords(language, stream, place, depth);
  }

 private:
  static packets::Language inner_language(packets::Language language) {
    return language == packets::Language::Aql ? packets::Language::Pm4 : language;
  }

  MemoryPort& port_;
  const GfxFamily family_;
  const HardwareQueue::QueuedVisitor& visit_;
  uint64_t left_ = kScannedDwords;
};

}  // namespace

std::vector<PendingWrite> StreamQueue::pending_writes() {
  std::vector<PendingWrite> writes;
  add_pending_writes(writes);
  visit_queued([&](const packets::Packet& packet, const PacketPlace& place) {
    for (PendingWrite& write : foreseen_writes(packet)) {
      write.packet = fmt::format("{} {}", packet.name(), place.to_string());
      writes.push_back(std::move(write));
    }
  });
  return writes;
}

void StreamQueue::visit_queued(const QueuedVisitor& visit) {
  if (ring_.paused()) return;
  StreamScan scan(port_, gpu_.config.target->family, visit);
  const uint64_t ring_position = stream_.place().ring_position;
  const auto ibs = stream_.ibs();
  for (size_t depth = ibs.size(); depth-- > 0;) {
    const PacketStream::Ib& ib = ibs[depth];
    const uint64_t base = ib.base + uint64_t{ib.position} * 4;
    scan.ib(config_.kind == QueueKind::Sdma ? packets::Language::Sdma : packets::Language::Pm4,
            {base, ib.dwords - ib.position}, {ring_position, ib.base, ib.position, true},
            static_cast<uint32_t>(depth) + 1);
  }
  const auto submitted = ring_.submitted();
  if (!submitted) return;
  const uint64_t dwords =
      std::min({*submitted - ring_.position(), ring_.ring_dwords(), kScannedDwords});
  std::vector<uint32_t> stream(dwords);
  if (!ring_.fetch(0, stream)) return;
  packets::Language language = packets::Language::Pm4;
  if (config_.kind == QueueKind::Aql) language = packets::Language::Aql;
  if (config_.kind == QueueKind::Sdma) language = packets::Language::Sdma;
  scan.dwords(language, stream, {.ring_position = ring_.position()}, 0);
}

}  // namespace doppel::emu
