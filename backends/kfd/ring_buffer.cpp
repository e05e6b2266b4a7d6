#include "backends/kfd/ring_buffer.h"

#include <algorithm>
#include <atomic>

#include "core/abi/hsa_aql.h"
#include "core/assert.h"
#include "core/packets/sdma.h"

namespace doppel::kfd {
namespace {

constexpr uint32_t kAqlPacketDwords = doppel::abi::kAqlPacketBytes / sizeof(uint32_t);
constexpr uint64_t kSdmaUnit = 8;  // dwords

/// Calls `visit(first, count)` for each packet of the stream.
template <class Visit>
void for_each_packet(const CommandStream& stream, Visit visit) {
  const auto starts = stream.packet_starts();
  for (size_t index = 0; index < starts.size(); ++index) {
    const size_t end = index + 1 < starts.size() ? starts[index + 1] : stream.size();
    visit(starts[index], end - starts[index]);
  }
}

}  // namespace

RingBuffer::RingBuffer(QueueKind kind, std::span<uint32_t> ring) : kind_(kind), ring_(ring) {
  DOPPEL_ASSERT(!ring.empty() && (ring.size() & (ring.size() - 1)) == 0,
                "a ring's size is a power of two");
  if (kind != QueueKind::Aql) return;
  for (size_t at = 0; at < ring.size(); at += kAqlPacketDwords) {
    ring[at] = doppel::abi::HSA_PACKET_TYPE_INVALID;
  }
}

uint64_t RingBuffer::write_pointer() const {
  switch (kind_) {
    case QueueKind::Pm4:
      return put_;
    case QueueKind::Sdma:
      return put_ * sizeof(uint32_t);
    case QueueKind::Aql:
      return put_ / kAqlPacketDwords;
  }
  return put_;
}

// One unit stays free, so that a full ring and an empty one differ modulo the size.
uint64_t RingBuffer::capacity() const {
  return ring_.size() - (kind_ == QueueKind::Aql ? kAqlPacketDwords : 1);
}

// Padding at the end of the ring is shorter than the packet that did not fit, or than a stream
// with an INDIRECT and the padding to its unit.
uint64_t RingBuffer::max_stream() const {
  return kind_ == QueueKind::Sdma ? (capacity() - (kSdmaUnit - 1)) / 2 : capacity();
}

uint64_t RingBuffer::sdma_lead(const CommandStream& stream) const {
  const bool calls = std::ranges::any_of(stream.packet_starts(), [&](uint32_t start) {
    return sdma::Header{stream.dwords()[start]}.op() == sdma::kIndirectOp;
  });
  if (!calls) return 0;
  const uint64_t to_unit = (kSdmaUnit - put_ % kSdmaUnit) % kSdmaUnit;
  const uint64_t tail = ring_.size() - put_ % ring_.size();
  return to_unit + stream.size() <= tail ? to_unit : tail;
}

uint64_t RingBuffer::needed(const CommandStream& stream) const {
  if (kind_ != QueueKind::Sdma) return stream.size();
  uint64_t end = put_ + sdma_lead(stream);
  for_each_packet(stream, [&](size_t, size_t count) {
    const uint64_t tail = ring_.size() - end % ring_.size();
    if (count > tail) end += tail;
    end += count;
  });
  return end - put_;
}

uint64_t RingBuffer::free_dwords(uint64_t read_pointer) const {
  uint64_t read = read_pointer;
  if (kind_ == QueueKind::Aql) read *= kAqlPacketDwords;
  if (kind_ == QueueKind::Sdma) read /= sizeof(uint32_t);
  const uint64_t used = (put_ - read) & (ring_.size() - 1);
  return capacity() - std::min(used, capacity());
}

void RingBuffer::copy(std::span<const uint32_t> dwords) {
  while (!dwords.empty()) {
    const size_t at = put_ % ring_.size();
    const size_t count = std::min(dwords.size(), ring_.size() - at);
    std::ranges::copy(dwords.first(count), ring_.begin() + static_cast<ptrdiff_t>(at));
    put_ += count;
    dwords = dwords.subspan(count);
  }
}

void RingBuffer::pad(uint64_t dwords) {
  for (; dwords > 0; --dwords) ring_[put_++ % ring_.size()] = sdma::kNopOp;
}

void RingBuffer::write_sdma(const CommandStream& stream) {
  pad(sdma_lead(stream));
  for_each_packet(stream, [&](size_t first, size_t count) {
    const uint64_t tail = ring_.size() - put_ % ring_.size();
    if (count > tail) pad(tail);
    copy(stream.dwords().subspan(first, count));
  });
}

void RingBuffer::write_aql(std::span<const uint32_t> dwords) {
  DOPPEL_ASSERT(dwords.size() % kAqlPacketDwords == 0, "AQL packets are 64 bytes long");
  for (size_t at = 0; at < dwords.size(); at += kAqlPacketDwords) {
    uint32_t& header = ring_[put_ % ring_.size()];
    const auto body = dwords.subspan(at + 1, kAqlPacketDwords - 1);
    std::ranges::copy(body, &header + 1);
    std::atomic_ref(header).store(dwords[at], std::memory_order_release);
    put_ += kAqlPacketDwords;
  }
}

void RingBuffer::write(const CommandStream& stream) {
  switch (kind_) {
    case QueueKind::Pm4:
      return copy(stream.dwords());
    case QueueKind::Sdma:
      return write_sdma(stream);
    case QueueKind::Aql:
      return write_aql(stream.dwords());
  }
}

}  // namespace doppel::kfd
