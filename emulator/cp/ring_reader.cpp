#include "emulator/cp/ring_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace doppel::emu {
namespace {

uint64_t read_doorbell(const uint64_t* doorbell) {
  return std::atomic_ref(*const_cast<uint64_t*>(doorbell)).load(std::memory_order_acquire);
}

Fault in_context(const MemoryFault& memory_fault, std::string_view context) {
  Fault fault = to_fault(memory_fault);
  fault.message = fmt::format("{} {}", context, fault.message);
  return fault;
}

}  // namespace

RingReader::RingReader(const QueueConfig& config, MemoryPort& port)
    : kind_(config.kind),
      read_pointer_(config.read_pointer),
      write_pointer_(config.write_pointer),
      doorbell_(config.doorbell),
      port_(port),
      pointers_(port.vm()),
      base_(config.ring),
      dwords_(config.ring_bytes / 4) {
  if (doorbell_) doorbell_idle_ = read_doorbell(doorbell_);
}

uint64_t RingReader::to_dwords(uint64_t units) const {
  switch (kind_) {
    case QueueKind::Pm4:
      return units;
    case QueueKind::Sdma:
      return units / 4;
    case QueueKind::Aql:
      return units * kAqlPacketDwords;
  }
  return units;
}

std::expected<uint64_t, Fault> RingReader::submitted() {
  uint64_t units = 0;
  if (write_pointer_ != 0) {
    auto in_memory = pointers_.load<uint64_t>(write_pointer_);
    if (!in_memory) {
      return std::unexpected(in_context(in_memory.error(), "The write pointer can't be read."));
    }
    units = *in_memory;
  }
  if (doorbell_) {
    const uint64_t rung = read_doorbell(doorbell_);
    doorbell_rung_ |= rung != doorbell_idle_;
    // An AQL doorbell holds the index of the last packet, the others the new write pointer.
    if (doorbell_rung_) units = std::max(units, rung + (kind_ == QueueKind::Aql ? 1 : 0));
  }
  if (kind_ == QueueKind::Sdma && units % 4 != 0) {
    Fault fault;
    fault.kind = FaultKind::Misaligned;
    fault.message = fmt::format("The write pointer is not in whole dwords ({} bytes).", units);
    return std::unexpected(std::move(fault));
  }
  submitted_ = std::max(submitted_, to_dwords(units));
  if (kind_ != QueueKind::Aql && submitted_ > position_ + dwords_ && !paused()) {
    Fault fault;
    fault.message = fmt::format(
        "The write pointer is further ahead than the ring is long (write pointer {} dwords, read "
        "pointer {} dwords, ring {} dwords).",
        submitted_, position_, dwords_);
    return std::unexpected(std::move(fault));
  }
  return submitted_;
}

std::expected<void, Fault> RingReader::fetch(uint64_t offset, std::span<uint32_t> out) {
  uint64_t at = position_ + offset;
  while (!out.empty()) {
    const uint64_t here = std::min<uint64_t>(out.size(), dwords_ - at % dwords_);
    auto done = port_.read(address(at), std::as_writable_bytes(out.first(here)));
    if (!done) return std::unexpected(in_context(done.error(), "The ring can't be read."));
    at += here;
    out = out.subspan(here);
  }
  return {};
}

std::expected<void, Fault> RingReader::report(uint64_t position) {
  if (read_pointer_ == 0) return {};
  uint64_t units = position;
  if (kind_ == QueueKind::Sdma) units = position * 4;
  if (kind_ == QueueKind::Aql) units = position / kAqlPacketDwords;
  auto done = pointers_.store<uint64_t>(read_pointer_, units);
  if (!done) {
    return std::unexpected(in_context(done.error(), "The read pointer can't be reported."));
  }
  return {};
}

void RingReader::move(uint64_t base, uint64_t bytes) {
  base_ = base;
  dwords_ = bytes / 4;
}

}  // namespace doppel::emu
