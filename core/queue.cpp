#include "core/queue.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/assert.h"

namespace doppel {

std::string_view to_string(QueueKind kind) {
  switch (kind) {
    case QueueKind::Pm4:
      return "pm4";
    case QueueKind::Aql:
      return "aql";
    case QueueKind::Sdma:
      return "sdma";
  }
  return "?";
}

packets::Language language_of(QueueKind kind) {
  switch (kind) {
    case QueueKind::Pm4:
      return packets::Language::Pm4;
    case QueueKind::Aql:
      return packets::Language::Aql;
    case QueueKind::Sdma:
      return packets::Language::Sdma;
  }
  return packets::Language::Pm4;
}

uint32_t ArgumentBlock::reserve(uint32_t bytes, uint32_t alignment) {
  DOPPEL_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= kAlignment,
                "an argument's alignment is a power of two within the block's");
  const size_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
  bytes_.resize(offset + bytes);
  return static_cast<uint32_t>(offset);
}

void ArgumentBlock::place(std::span<std::byte> destination, uint64_t address,
                          std::span<uint32_t> dwords) const {
  DOPPEL_ASSERT(destination.size() == bytes_.size() && address % kAlignment == 0,
                "an argument block goes to an aligned place of its size");
  std::ranges::copy(bytes_, destination.begin());
  for (const Pointer& pointer : pointers_) {
    const uint64_t value = address + pointer.offset;
    std::memcpy(destination.data() + pointer.place, &value, sizeof value);
  }
  for (const Reference& reference : references_) {
    reference.patch.set(dwords, address + reference.offset);
  }
}

void append_pm4(Submission& submission, const CommandStream& pm4) {
  if (auto encoded = pm4.check(); !encoded) return submission.commands.fail(encoded.error());
  const auto bytes = std::as_bytes(pm4.dwords());
  ArgumentBlock& arguments = submission.arguments;
  const uint32_t offset =
      arguments.reserve(static_cast<uint32_t>(bytes.size()), ArgumentBlock::kAlignment);
  std::ranges::copy(bytes, arguments.at(offset, static_cast<uint32_t>(bytes.size())).begin());
  const IndirectPatch patch =
      AqlEncoder(submission.commands).indirect_pm4(0, static_cast<uint32_t>(pm4.size()));
  if (patch.address) arguments.refer(patch.address, offset);
}

Result<> Queue::submit(Submission submission) {
  DOPPEL_ASSIGN(const auto reservation, reserve(std::move(submission)));
  reservation->publish();
  return {};
}

Result<> submit_together(std::vector<QueuedSubmission> submissions) {
  // One order for all threads, so that none holds what another waits for.
  std::ranges::sort(submissions, std::less<>(), &QueuedSubmission::queue);
  const auto twice = std::ranges::adjacent_find(submissions, {}, &QueuedSubmission::queue);
  if (twice != submissions.end() || (!submissions.empty() && !submissions.front().queue)) {
    return error(StatusCode::InvalidArgument,
                 "Submissions that are made together are for different queues, one each.");
  }
  std::vector<std::unique_ptr<QueueReservation>> reservations;
  for (QueuedSubmission& next : submissions) {
    DOPPEL_ASSIGN(auto reservation, next.queue->reserve(std::move(next.submission)));
    reservations.push_back(std::move(reservation));
  }
  for (const auto& reservation : reservations) reservation->publish();
  return {};
}

}  // namespace doppel
