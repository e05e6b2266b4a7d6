#include "tools/streams/stream_walk.h"

#include <algorithm>

#include "core/abi/kernel_descriptor.h"
#include "core/packets/lint.h"
#include "core/packets/validate.h"

namespace doppel::streams {
namespace {

using namespace packets;

constexpr int kMaxDepth = 8;  // of nested indirect buffers: chains may form a ring

class Walker {
 public:
  Walker(const WalkOptions& options, const std::function<void(const Visit&)>& visit)
      : options_(options), visit_(visit) {}

  void walk(Language language, std::span<const uint32_t> stream, int depth) {
    PacketCursor cursor(language, stream, options_.family);
    while (!cursor.done()) {
      const Packet packet = cursor.packet();
      Visit visit{packet, cursor.offset(), depth, {}, 0, false};
      validate(packet, visit.problems);
      if (options_.explain) lint(packet, visit.problems);
      if (packet.ok()) {
        cursor.advance();
      } else {
        visit.skipped = cursor.resync();
        visit.resumes = !cursor.done();
      }
      count(visit);
      visit_(visit);
      follow(packet, depth);
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
    const auto reference = reference_of(packet);
    if (!reference || !reference->language) return;
    const auto target = options_.memory->at(reference->address, reference->dwords);
    if (!target.empty()) walk(*reference->language, target, depth + 1);
  }

  const WalkOptions& options_;
  const std::function<void(const Visit&)>& visit_;
  WalkTotals totals_;
};

}  // namespace

std::optional<Reference> reference_of(const Packet& packet) {
  if (!packet.ok()) return std::nullopt;
  Reference reference;
  if (packet.pm4_id() == pm4::Id::IndirectBuffer) {
    const auto ib = packet.as<pm4::IndirectBuffer>();
    reference = {ib.ib_base(), ib.ib_size(), Language::Pm4};
  } else if (packet.sdma_id() == sdma::Id::Indirect) {
    const auto ib = packet.as<sdma::Indirect>();
    reference = {ib.ib_base(), ib.ib_size(), Language::Sdma};
  } else if (packet.aql_id() == aql::Id::VendorPm4Ib) {
    const pm4::IndirectBuffer::View ib(packet.dwords.subspan(1, 4), packet.family);
    reference = {ib.ib_base(), ib.ib_size(), Language::Pm4};
  } else if (packet.aql_id() == aql::Id::KernelDispatch) {
    reference = {packet.as<aql::KernelDispatch>().kernel_object(),
                 sizeof(abi::KernelDescriptor) / sizeof(uint32_t), std::nullopt};
  }
  if (reference.dwords == 0) return std::nullopt;
  return reference;
}

WalkTotals walk_stream(Language language, std::span<const uint32_t> stream,
                       const WalkOptions& options, const std::function<void(const Visit&)>& visit) {
  Walker walker(options, visit);
  walker.walk(language, stream, 0);
  return walker.totals();
}

}  // namespace doppel::streams
