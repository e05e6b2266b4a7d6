#include "tools/streams/stream_walk.h"

#include <algorithm>

#include "core/packets/lint.h"
#include "core/packets/validate.h"

namespace doppel::streams {
namespace {

using namespace packets;

constexpr int kMaxDepth = 8;  // of nested indirect buffers: chains may form a ring

/// Where a packet goes on reading.
struct Jump {
  Language language;
  uint64_t address = 0;
  uint32_t dwords = 0;  // 0: nowhere
};

Jump jump_of(const Packet& packet) {
  if (packet.pm4_id() == pm4::Id::IndirectBuffer) {
    const auto ib = packet.as<pm4::IndirectBuffer>();
    return {Language::Pm4, ib.ib_base(), ib.ib_size()};
  }
  if (packet.sdma_id() == sdma::Id::Indirect) {
    const auto ib = packet.as<sdma::Indirect>();
    return {Language::Sdma, ib.ib_base(), ib.ib_size()};
  }
  if (packet.aql_id() == aql::Id::VendorPm4Ib) {
    const pm4::IndirectBuffer::View ib(packet.dwords.subspan(1, 4), packet.family);
    return {Language::Pm4, ib.ib_base(), ib.ib_size()};
  }
  return {Language::Pm4};
}

class Walker {
 public:
  Walker(const WalkOptions& options, const std::function<void(const Visit&)>& visit)
      : options_(options), visit_(visit) {}

  void walk(Language language, std::span<const uint32_t> stream, int depth) {
    PacketCursor cursor(language, stream, options_.family);
    while (!cursor.done()) {
      const Packet packet = cursor.packet();
      Visit visit{packet, cursor.offset(), depth, {}, 0};
      validate(packet, visit.problems);
      if (options_.explain) lint(packet, visit.problems);
      if (packet.ok()) {
        cursor.advance();
      } else {
        visit.skipped = cursor.resync();
      }
      count(visit);
      visit_(visit);
      if (packet.ok()) follow(packet, depth);
    }
  }

  const WalkTotals& totals() const { return totals_; }

 private:
  void count(const Visit& visit) {
    ++totals_.packets;
    totals_.skipped += visit.skipped;
    totals_.problems += static_cast<size_t>(std::ranges::count_if(
        visit.problems, [](const Problem& each) { return each.severity == Severity::Error; }));
  }

  void follow(const Packet& packet, int depth) {
    if (!options_.memory || depth >= kMaxDepth) return;
    const Jump jump = jump_of(packet);
    if (jump.dwords == 0) return;
    const auto target = options_.memory->at(jump.address, jump.dwords);
    if (!target.empty()) walk(jump.language, target, depth + 1);
  }

  const WalkOptions& options_;
  const std::function<void(const Visit&)>& visit_;
  WalkTotals totals_;
};

}  // namespace

void KnownMemory::add(uint64_t address, std::vector<uint32_t> dwords) {
  ranges_[address] = std::move(dwords);
}

std::span<const uint32_t> KnownMemory::at(uint64_t address, size_t dwords) const {
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return {};
  --range;
  const uint64_t offset = address - range->first;
  if (offset % sizeof(uint32_t) != 0) return {};
  const std::span<const uint32_t> known(range->second);
  const uint64_t first = offset / sizeof(uint32_t);
  if (first >= known.size()) return {};
  return known.subspan(first, std::min<size_t>(dwords, known.size() - first));
}

WalkTotals walk_stream(Language language, std::span<const uint32_t> stream,
                       const WalkOptions& options, const std::function<void(const Visit&)>& visit) {
  Walker walker(options, visit);
  walker.walk(language, stream, 0);
  return walker.totals();
}

}  // namespace doppel::streams
