#include "core/graph/indirect_stream.h"

#include <cstring>

#include <fmt/format.h>

#include "core/command_encoder.h"
#include "core/device.h"

namespace doppel::graph {
namespace {

/// The size field of an indirect buffer has 20 bits (PM4 INDIRECT_BUFFER, SDMA INDIRECT).
constexpr uint32_t kMaxSegment = (1u << 20) - 1;

/// SDMA fetches indirect buffers from 32-byte aligned addresses, in units of that size; and the
/// packet that calls one has to end at such a place in the ring. Source: the Linux kernel's
/// sdma_v6_0_ring_emit_ib and sdma_v6_0_ring_pad_ib.
constexpr uint32_t kSdmaUnit = 8;  // dwords
constexpr uint32_t kSdmaCallDwords = 6;

void append_nops(CommandStream& stream, uint32_t count) {
  for (; count > 0; --count) stream.append(sdma::Nop(stream.family()));
}

}  // namespace

void IndirectStream::pad() {
  if (commands_.language() != packets::Language::Sdma) return;
  append_nops(commands_, (kSdmaUnit - commands_.size() % kSdmaUnit) % kSdmaUnit);
}

bool IndirectStream::fits() const {
  // One unit stays free for the padding before a cut.
  return commands_.size() - segment_begin() + kSdmaUnit <= kMaxSegment;
}

void IndirectStream::allow_cut() {
  if (!fits() && last_cut_ > segment_begin()) segment_ends_.push_back(last_cut_);
  if (!fits()) {
    commands_.fail(Status(StatusCode::Exhausted,
                          fmt::format("One node's commands ({} dwords) do not fit into an indirect "
                                      "buffer of {} dwords.",
                                      commands_.size() - segment_begin(), kMaxSegment)));
    return;
  }
  pad();
  last_cut_ = static_cast<uint32_t>(commands_.size());
}

Result<> IndirectStream::bind(Device& device) {
  allow_cut();
  DOPPEL_TRY(commands_.check());
  if (last_cut_ > segment_begin()) segment_ends_.push_back(last_cut_);
  const auto bytes = std::as_bytes(commands_.dwords());
  if (bytes.empty()) return {};
  DOPPEL_ASSIGN(memory_, device.allocate(bytes.size(), {.domain = MemoryDomain::Gtt,
                                                        .executable = true,
                                                        .coherent = true,
                                                        .uncached = true}));
  std::memcpy(memory_.host(), bytes.data(), bytes.size());
  return {};
}

void IndirectStream::call(CommandStream& caller) const {
  uint32_t begin = 0;
  for (const uint32_t end : segment_ends_) {
    const uint64_t address = memory_.gpu_address() + begin * sizeof(uint32_t);
    if (commands_.language() == packets::Language::Sdma) {
      const size_t after = caller.size() + kSdmaCallDwords;
      append_nops(caller, (kSdmaUnit - after % kSdmaUnit) % kSdmaUnit);
      SdmaEncoder(caller).indirect(address, end - begin);
    } else {
      Pm4Encoder(caller).indirect(address, end - begin);
    }
    begin = end;
  }
}

std::span<uint32_t> IndirectStream::dwords() const {
  return memory_.host_as<uint32_t>().first(commands_.size());
}

CommandStream IndirectStream::snapshot() const {
  CommandStream copy = commands_;
  if (memory_) std::ranges::copy(dwords(), copy.dwords().begin());
  return copy;
}

}  // namespace doppel::graph
