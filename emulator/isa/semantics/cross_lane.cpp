#include "emulator/isa/semantics/cross_lane.h"

#include <bit>

#include <fmt/format.h>

#include "emulator/isa/semantics/integer.h"

DOPPEL_BEGIN_LEVEL

namespace {

/// Register `index` of lane `lane` of the wave, both halves counted.
uint32_t& lane_of(Wave& wave, uint32_t index, uint32_t lane) {
  return wave.vgprs[lane / 32 * emu::kVgprSlots + index].lane[lane % 32];
}
uint32_t vgpr_of_source(const Inst* inst, uint32_t index) {
  return static_cast<uint32_t>(inst->source[index] /
                               static_cast<int64_t>(sizeof(emu::LaneRegister)));
}
uint32_t vgpr_of_destination(const Inst* inst) {
  return inst->vdst / static_cast<uint32_t>(sizeof(emu::LaneRegister));
}
/// A scalar operand: broadcast, staged or constant, its first lane has the value.
uint32_t scalar_operand(const Wave& wave, const Inst* inst, uint32_t index) {
  uint32_t value;
  std::memcpy(&value, wave.source(*inst, index), sizeof value);
  return value;
}
uint32_t source_lane(const Wave& wave, const Inst* inst, uint32_t index, uint32_t lane) {
  uint32_t value;
  std::memcpy(&value, wave.source(*inst, index) + size_t{lane} * 4, sizeof value);
  return value;
}

/// Moves with a register index from M0 fault beyond the allocation.
bool check_vgpr(Wave& wave, const Inst* inst, uint32_t index) {
  if (index < wave.vgpr_limit) return true;
  emu::Fault fault;
  fault.kind = emu::FaultKind::IllegalInstruction;
  fault.message = fmt::format("The indexed move reaches a VGPR beyond the allocation (v{}, {}).",
                              index, wave.vgpr_limit);
  wave.raise(inst, std::move(fault));
  return false;
}

/// dst = src in the lanes that are on, registers by number.
const Inst* move_register(Wave& wave, const Inst* inst, uint32_t dst, const uint32_t* from) {
  blend(wave.vgpr(dst), from, wave.exec_half());
  return inst + 1;
}

}  // namespace

const Inst* vector_nop(Wave&, const Inst* inst) {
  return inst + 1;
}

const Inst* vector_readfirstlane_b32(Wave& wave, const Inst* inst) {
  const uint64_t exec = wave.mask(kExecLo);
  const auto lane = exec == 0 ? 0u : static_cast<uint32_t>(std::countr_zero(exec));
  wave.s[inst->sdst] = inst->base[0] == Base::Vgpr ? lane_of(wave, vgpr_of_source(inst, 0), lane)
                                                   : scalar_operand(wave, inst, 0);
  return inst + 1;
}

const Inst* vector_readlane_b32(Wave& wave, const Inst* inst) {
  const uint32_t lane = scalar_operand(wave, inst, 1) & (wave.lanes - 1);
  wave.s[inst->sdst] = inst->base[0] == Base::Vgpr ? lane_of(wave, vgpr_of_source(inst, 0), lane)
                                                   : scalar_operand(wave, inst, 0);
  return inst + 1;
}

const Inst* vector_writelane_b32(Wave& wave, const Inst* inst) {
  const uint32_t lane = scalar_operand(wave, inst, 1) & (wave.lanes - 1);
  lane_of(wave, vgpr_of_destination(inst), lane) = scalar_operand(wave, inst, 0);
  return inst + 1;
}

namespace {

/// OP_SEL[0] fetches from lanes that are off; OP_SEL[1] makes what cannot be fetched 0 instead of
/// leaving the destination.
const Inst* permlane(Wave& wave, const Inst* inst, uint32_t row_flip) {
  const uint64_t selectors = scalar_operand(wave, inst, 1) | uint64_t{scalar_operand(wave, inst, 2)}
                                                                 << 32;
  const uint32_t op_sel = inst->extra != nullptr ? inst->extra->op_sel : 0;
  const bool fetch_inactive = (op_sel & 1) != 0, bound_control = (op_sel & 2) != 0;
  const uint32_t exec = wave.exec_half();
  const uint32_t* from = wave.vgpr(vgpr_of_source(inst, 0));
  uint32_t* to = wave.vgpr(vgpr_of_destination(inst));
  alignas(64) uint32_t results[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    const auto chosen = static_cast<uint32_t>(selectors >> (4 * (l & 15))) & 15;
    const uint32_t source = ((l & 16) ^ row_flip) | chosen;
    const bool available = fetch_inactive || (exec >> source & 1u) != 0;
    results[l] = available ? from[source] : bound_control ? 0 : to[l];
  }
  blend(to, results, exec);
  return inst + 1;
}

}  // namespace

const Inst* vector_permlane16_b32(Wave& wave, const Inst* inst) {
  return permlane(wave, inst, 0);
}
const Inst* vector_permlanex16_b32(Wave& wave, const Inst* inst) {
  return permlane(wave, inst, 16);
}

/// Exchanges the halves of a wave64; in a wave32 it does nothing. Lanes that are off are read.
const Inst* vector_permlane64_b32(Wave& wave, const Inst* inst) {
  if (!wave.wave64()) return inst + 1;
  const uint32_t source = vgpr_of_source(inst, 0), destination = vgpr_of_destination(inst);
  const emu::LaneRegister low = wave.vgprs[source], high = wave.vgprs[emu::kVgprSlots + source];
  blend(wave.vgprs[destination].lane.data(), high.lane.data(), wave.s[kExecLo]);
  blend(wave.vgprs[emu::kVgprSlots + destination].lane.data(), low.lane.data(), wave.s[kExecHi]);
  return inst + 1;
}

const Inst* vector_swap_b32(Wave& wave, const Inst* inst) {
  const uint32_t a = vgpr_of_destination(inst), b = vgpr_of_source(inst, 0);
  alignas(64) uint32_t old[kLanes];
  std::memcpy(old, wave.vgpr(a), sizeof old);
  blend(wave.vgpr(a), wave.vgpr(b), wave.exec_half());
  return move_register(wave, inst, b, old);
}

/// The halves are named by bit 7 of the register numbers (the 16-bit register space of gfx11).
const Inst* vector_swap_b16(Wave& wave, const Inst* inst) {
  uint32_t* a = wave.vgpr(vgpr_of_destination(inst) & 127);
  uint32_t* b = wave.vgpr(vgpr_of_source(inst, 0) & 127);
  const uint32_t shift_a = (vgpr_of_destination(inst) & 128) != 0 ? 16 : 0;
  const uint32_t shift_b = (vgpr_of_source(inst, 0) & 128) != 0 ? 16 : 0;
  for (uint32_t rest = wave.exec_half(); rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const uint32_t half_a = a[l] >> shift_a & 0xffff, half_b = b[l] >> shift_b & 0xffff;
    a[l] = (a[l] & ~(0xffffu << shift_a)) | half_b << shift_a;
    b[l] = (b[l] & ~(0xffffu << shift_b)) | half_a << shift_b;
  }
  return inst + 1;
}

// Indexed moves: M0 is added to the register numbers; the _2 and SWAPREL forms use its halves.

const Inst* vector_movreld_b32(Wave& wave, const Inst* inst) {
  const uint32_t dst = vgpr_of_destination(inst) + wave.s[kM0];
  if (!check_vgpr(wave, inst, dst)) return nullptr;
  return move_register(wave, inst, dst, reinterpret_cast<const uint32_t*>(wave.source(*inst, 0)));
}
const Inst* vector_movrels_b32(Wave& wave, const Inst* inst) {
  const uint32_t src = vgpr_of_source(inst, 0) + wave.s[kM0];
  if (!check_vgpr(wave, inst, src)) return nullptr;
  return move_register(wave, inst, vgpr_of_destination(inst), wave.vgpr(src));
}
const Inst* vector_movrelsd_b32(Wave& wave, const Inst* inst) {
  const uint32_t src = vgpr_of_source(inst, 0) + wave.s[kM0];
  const uint32_t dst = vgpr_of_destination(inst) + wave.s[kM0];
  if (!check_vgpr(wave, inst, src) || !check_vgpr(wave, inst, dst)) return nullptr;
  return move_register(wave, inst, dst, wave.vgpr(src));
}
const Inst* vector_movrelsd_2_b32(Wave& wave, const Inst* inst) {
  const uint32_t src = vgpr_of_source(inst, 0) + (wave.s[kM0] & 0x3ff);
  const uint32_t dst = vgpr_of_destination(inst) + (wave.s[kM0] >> 16 & 0x3ff);
  if (!check_vgpr(wave, inst, src) || !check_vgpr(wave, inst, dst)) return nullptr;
  return move_register(wave, inst, dst, wave.vgpr(src));
}
const Inst* vector_swaprel_b32(Wave& wave, const Inst* inst) {
  const uint32_t src = vgpr_of_source(inst, 0) + (wave.s[kM0] & 0x3ff);
  const uint32_t dst = vgpr_of_destination(inst) + (wave.s[kM0] >> 16 & 0x3ff);
  if (!check_vgpr(wave, inst, src) || !check_vgpr(wave, inst, dst)) return nullptr;
  alignas(64) uint32_t old[kLanes];
  std::memcpy(old, wave.vgpr(dst), sizeof old);
  blend(wave.vgpr(dst), wave.vgpr(src), wave.exec_half());
  return move_register(wave, inst, src, old);
}

namespace {

/// Bits of the mask below the lane, plus the second source. `first_lane` is that of the mask's
/// bit 0.
const Inst* mbcnt(Wave& wave, const Inst* inst, uint32_t first_lane) {
  Results<U32> results(wave, *inst);
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t lane = wave.half * 32 + l;
    const uint32_t below = lane <= first_lane        ? 0
                           : lane - first_lane >= 32 ? ~0u
                                                     : (1u << (lane - first_lane)) - 1;
    const uint32_t bits = source_lane(wave, inst, 0, l) & below;
    results.set(static_cast<int>(l),
                static_cast<uint32_t>(std::popcount(bits)) + source_lane(wave, inst, 1, l));
  }
  results.commit(wave, *inst);
  return inst + 1;
}

}  // namespace

const Inst* vector_mbcnt_lo_u32_b32(Wave& wave, const Inst* inst) {
  return mbcnt(wave, inst, 0);
}
const Inst* vector_mbcnt_hi_u32_b32(Wave& wave, const Inst* inst) {
  return mbcnt(wave, inst, 32);
}

/// Four masked sums of absolute differences, each of its own window and into its own register.
const Inst* vector_mqsad_u32_u8(Wave& wave, const Inst* inst) {
  alignas(64) uint32_t results[4][kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t a =
        source_lane(wave, inst, 0, l) | uint64_t{source_lane(wave, inst, 0, l + kLanes)} << 32;
    for (uint32_t i = 0; i < 4; ++i) {
      results[i][l] = msad_u8(static_cast<uint32_t>(a >> (8 * i)), source_lane(wave, inst, 1, l),
                              source_lane(wave, inst, 2, i * kLanes + l));
    }
  }
  for (uint32_t i = 0; i < 4; ++i) {
    blend(wave.destination(*inst) + i * kLanes, results[i], wave.exec_half());
  }
  return inst + 1;
}

DOPPEL_END_LEVEL
