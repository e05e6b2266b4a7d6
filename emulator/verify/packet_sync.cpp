#include "emulator/verify/packet_sync.h"

#include <cstddef>

#include "core/abi/amd_signal.h"
#include "core/packets/registers.h"

namespace doppel::verify {
namespace {

using emu::Compare;
using emu::MemoryWait;

void add_wait(PacketSync& sync, const MemoryWait& wait) {
  sync.waits[sync.wait_count++] = wait;
}

constexpr uint64_t value_of(uint64_t signal) {
  return signal + offsetof(abi::AmdSignal, value);
}

/// Of GCR_CNTL, which ACQUIRE_MEM, RELEASE_MEM and GCR_REQ share from gfx10 on.
template <class View>
CacheOps gcr_ops(const View& view) {
  CacheOps ops;
  // gfx12 has no GL1.
  const bool has_gl1 = view.family() != GfxFamily::Gfx12;
  ops.add_if(view.gcr_glv_inv() && (!has_gl1 || view.gcr_gl1_inv()), CacheOp::InvalidateVector);
  ops.add_if(view.gcr_gl2_inv(), CacheOp::InvalidateL2);
  ops.add_if(view.gcr_gl2_wb(), CacheOp::WriteBackL2);
  return ops;
}

CacheOps acquire_mem(const pm4::AcquireMem::View& view) {
  CacheOps ops = gcr_ops(view);
  ops.add_if(view.gcr_glk_inv(), CacheOp::InvalidateScalar);
  ops.add_if(view.gcr_gli_inv() != 0, CacheOp::InvalidateInstruction);
  // gfx9.4
  ops.add_if(view.tcl1_action_ena(), CacheOp::InvalidateVector);
  ops.add_if(view.sh_kcache_action_ena(), CacheOp::InvalidateScalar);
  ops.add_if(view.sh_icache_action_ena(), CacheOp::InvalidateInstruction);
  ops.add_if(view.tc_action_ena(), CacheOp::InvalidateL2);
  ops.add_if(view.tc_wb_action_ena(), CacheOp::WriteBackL2);
  return ops;
}

CacheOps release_mem(const pm4::ReleaseMem::View& view) {
  CacheOps ops = gcr_ops(view);
  ops.add_if(view.gcr_glk_inv(), CacheOp::InvalidateScalar);
  ops.add_if(view.tcl1_action_ena(), CacheOp::InvalidateVector);
  ops.add_if(view.tc_action_ena(), CacheOp::InvalidateL2);
  ops.add_if(view.tc_wb_action_ena(), CacheOp::WriteBackL2);
  return ops;
}

void wait_reg_mem(PacketSync& sync, const pm4::WaitRegMem::View& view) {
  const auto compare = emu::to_compare(view.function());
  if (!compare) return;
  if (view.mem_space() == pm4::MemSpace::MEMORY_SPACE) {
    add_wait(sync, {view.address(), view.reference(), view.mask(), *compare, false});
  } else if (view.operation() == pm4::Operation::WR_WAIT_WR_REG) {
    sync.acquire.add_if(
        view.reg_write_addr1() == regs::BIF_BX_PF0_GPU_HDP_FLUSH_REQ.in(view.family()),
        CacheOp::FlushHdp);
  }
}

PacketSync of_pm4(const packets::Packet& packet) {
  PacketSync sync;
  switch (packet.pm4_id()) {
    case pm4::Id::AcquireMem:
      sync.acquire = acquire_mem(packet.as<pm4::AcquireMem>());
      break;
    case pm4::Id::ReleaseMem:
      sync.end_of_pipe = true;
      sync.release = release_mem(packet.as<pm4::ReleaseMem>());
      break;
    case pm4::Id::WaitRegMem:
      wait_reg_mem(sync, packet.as<pm4::WaitRegMem>());
      break;
    case pm4::Id::EventWrite:
      sync.joins_pipe =
          packet.as<pm4::EventWrite>().event_type() == pm4::EventType::CS_PARTIAL_FLUSH;
      break;
    default:
      break;
  }
  return sync;
}

PacketSync of_sdma(const packets::Packet& packet) {
  PacketSync sync;
  if (packet.sdma_id() == sdma::Id::PollRegmem) {
    const auto view = packet.as<sdma::PollRegmem>();
    const auto compare = emu::to_compare(view.func());
    if (view.mem_poll() && compare) {
      add_wait(sync, {view.address(), view.value(), view.mask(), *compare, false});
    }
    sync.acquire.add_if(!view.mem_poll(), CacheOp::FlushHdp);
  } else if (packet.sdma_id() == sdma::Id::GcrReq) {
    const auto view = packet.as<sdma::GcrReq>();
    sync.acquire = gcr_ops(view);
    sync.acquire.add_if(view.gcr_glk_inv(), CacheOp::InvalidateScalar);
    sync.acquire.add_if(view.gcr_gli_inv() != 0, CacheOp::InvalidateInstruction);
  }
  return sync;
}

CacheOps aql_acquire(aql::FenceScope scope) {
  CacheOps ops;
  if (scope == aql::FenceScope::NONE) return ops;
  ops.add(CacheOp::InvalidateVector);
  ops.add(CacheOp::InvalidateScalar);
  if (scope == aql::FenceScope::SYSTEM) {
    ops.add(CacheOp::InvalidateL2);
    ops.add(CacheOp::FlushHdp);
  }
  return ops;
}

Compare compare_of(aql::SignalCondition condition) {
  switch (condition) {
    case aql::SignalCondition::NE:
      return Compare::NotEqual;
    case aql::SignalCondition::LT:
      return Compare::Less;
    case aql::SignalCondition::GTE:
      return Compare::GreaterEqual;
    default:
      return Compare::Equal;
  }
}

template <class View>
void add_dependencies(PacketSync& sync, const View& view) {
  for (uint64_t signal : {view.dep_signal0(), view.dep_signal1(), view.dep_signal2(),
                          view.dep_signal3(), view.dep_signal4()}) {
    if (signal != 0) add_wait(sync, {value_of(signal), 0, ~uint64_t{0}, Compare::Equal, true});
  }
}

PacketSync of_aql(const packets::Packet& packet) {
  PacketSync sync;
  if (!packet.row) return sync;
  // The header's fields lie at the same place in every packet.
  const auto header = packet.as<aql::BarrierAnd>();
  sync.joins_pipe = header.barrier();
  sync.acquire = aql_acquire(header.acquire_scope());
  sync.release.add_if(header.release_scope() == aql::FenceScope::SYSTEM, CacheOp::WriteBackL2);
  switch (packet.aql_id()) {
    case aql::Id::BarrierAnd:
      add_dependencies(sync, packet.as<aql::BarrierAnd>());
      break;
    case aql::Id::BarrierOr:
      add_dependencies(sync, packet.as<aql::BarrierOr>());
      sync.any_wait = true;
      break;
    case aql::Id::VendorBarrierValue: {
      const auto view = packet.as<aql::VendorBarrierValue>();
      if (view.signal() == 0) break;
      add_wait(sync, {value_of(view.signal()), view.value(), view.mask(), compare_of(view.cond()),
                      true, true});
      break;
    }
    default:
      break;
  }
  return sync;
}

}  // namespace

PacketSync packet_sync(const packets::Packet& packet) {
  switch (packet.language) {
    case packets::Language::Pm4:
      return of_pm4(packet);
    case packets::Language::Sdma:
      return of_sdma(packet);
    case packets::Language::Aql:
      return of_aql(packet);
  }
  return {};
}

}  // namespace doppel::verify
