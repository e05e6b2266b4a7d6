// Encoders' constructors, cache and memory barriers, indirect buffers.
#include <fmt/format.h>

#include "core/command_encoder.h"
#include "core/encode/cache_control.h"
#include "core/packets/registers.h"

namespace doppel {

Pm4Encoder::Pm4Encoder(CommandStream& stream) : stream_(stream) {
  DOPPEL_ASSERT(stream.language() == packets::Language::Pm4, "the stream is not of PM4");
}

SdmaEncoder::SdmaEncoder(CommandStream& stream, uint64_t max_transfer)
    : stream_(stream), max_transfer_(max_transfer) {
  DOPPEL_ASSERT(stream.language() == packets::Language::Sdma, "the stream is not of SDMA");
  DOPPEL_ASSERT(max_transfer >= 4 && max_transfer % 4 == 0,
                "the largest transfer is not a multiple of 4");
}

AqlEncoder::AqlEncoder(CommandStream& stream) : stream_(stream) {
  DOPPEL_ASSERT(stream.language() == packets::Language::Aql, "the stream is not of AQL");
}

Pm4Encoder& Pm4Encoder::memory_barrier() {
  const GfxFamily family = stream_.family();
  constexpr uint32_t kPollInterval = 0x20;
  stream_.append(pm4::WaitRegMem(family)
                     .mem_space(pm4::MemSpace::REGISTER_SPACE)
                     .operation(pm4::Operation::WR_WAIT_WR_REG)
                     .function(pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE)
                     .reg_write_addr1(regs::BIF_BX_PF0_GPU_HDP_FLUSH_REQ.in(family))
                     .reg_write_addr2(regs::BIF_BX_PF0_GPU_HDP_FLUSH_DONE.in(family))
                     .reference(0xffffffff)
                     .mask(0xffffffff)
                     .poll_interval(kPollInterval));
  return acquire_caches();
}

Pm4Encoder& Pm4Encoder::acquire_caches() {
  pm4::AcquireMem packet(stream_.family());
  packet.coher_size(~uint64_t{0});
  set_full_acquire(packet, stream_.family());
  stream_.append(packet);
  return *this;
}

IndirectPatch Pm4Encoder::indirect(uint64_t address, uint32_t dwords) {
  using Packet = pm4::IndirectBuffer;
  if (address % 4 != 0 || dwords == 0 ||
      dwords > Packet::ib_size_field.in(stream_.family()).max()) {
    stream_.fail(Status(
        StatusCode::InvalidArgument,
        fmt::format("The indirect buffer cannot be run (0x{:x}, {} dwords).", address, dwords)));
    return {};
  }
  const uint32_t packet =
      stream_.append(Packet(stream_.family()).ib_base(address).ib_size(dwords).valid(true));
  return {stream_.patch<uint64_t>(packet, Packet::ib_base_field),
          stream_.patch<uint32_t>(packet, Packet::ib_size_field)};
}

IndirectPatch SdmaEncoder::indirect(uint64_t address, uint32_t dwords) {
  using Packet = sdma::Indirect;
  if (address % 32 != 0 || dwords == 0 ||
      dwords > Packet::ib_size_field.in(stream_.family()).max()) {
    stream_.fail(Status(
        StatusCode::InvalidArgument,
        fmt::format("The indirect buffer cannot be run (0x{:x}, {} dwords).", address, dwords)));
    return {};
  }
  const uint32_t packet = stream_.append(Packet(stream_.family()).ib_base(address).ib_size(dwords));
  return {stream_.patch<uint64_t>(packet, Packet::ib_base_field),
          stream_.patch<uint32_t>(packet, Packet::ib_size_field)};
}

namespace {

template <class Packet>
void append_barrier(CommandStream& stream, std::span<const SignalRef> dependencies,
                    const SignalRef& completion) {
  if (dependencies.size() > 5) {
    stream.fail(Status(
        StatusCode::InvalidArgument,
        fmt::format("A barrier packet takes at most 5 signals ({} given).", dependencies.size())));
    return;
  }
  auto at = [&](size_t index) {
    return index < dependencies.size() ? dependencies[index].address : 0;
  };
  stream.append(Packet(stream.family())
                    .barrier(true)
                    .acquire_scope(aql::FenceScope::SYSTEM)
                    .release_scope(aql::FenceScope::SYSTEM)
                    .dep_signal0(at(0))
                    .dep_signal1(at(1))
                    .dep_signal2(at(2))
                    .dep_signal3(at(3))
                    .dep_signal4(at(4))
                    .completion_signal(completion.address));
}

}  // namespace

void AqlEncoder::barrier_and(std::span<const SignalRef> dependencies, const SignalRef& completion) {
  append_barrier<aql::BarrierAnd>(stream_, dependencies, completion);
}

void AqlEncoder::barrier_or(std::span<const SignalRef> dependencies, const SignalRef& completion) {
  append_barrier<aql::BarrierOr>(stream_, dependencies, completion);
}

IndirectPatch AqlEncoder::indirect_pm4(uint64_t address, uint32_t dwords,
                                       const SignalRef& completion) {
  // The packet holds a whole INDIRECT_BUFFER, whose fields lie one dword further on.
  using Jump = pm4::IndirectBuffer;
  constexpr uint32_t kJumpDword = 1, kRemaining = 10;
  const auto jump = Jump(stream_.family()).ib_base(address).ib_size(dwords).valid(true);
  const uint32_t packet = stream_.append(aql::VendorPm4Ib(stream_.family())
                                             .barrier(true)
                                             .acquire_scope(aql::FenceScope::SYSTEM)
                                             .release_scope(aql::FenceScope::SYSTEM)
                                             .ib_header(jump.dwords()[0])
                                             .ib_base(address)
                                             .ib_control(jump.dwords()[3])
                                             .dw_cnt_remain(kRemaining)
                                             .completion_signal(completion.address));
  return {stream_.patch<uint64_t>(packet, aql::VendorPm4Ib::ib_base_field),
          stream_.patch<uint32_t>(packet + kJumpDword, Jump::ib_size_field)};
}

}  // namespace doppel
