// The wrappers that stand before a body whose sources are not plain registers or constants, or that
// runs once per half of a wave64; VOPD; and the parts of lanes.h that are not hot.
#include <fmt/format.h>
#include <immintrin.h>

#include "emulator/isa/semantics/dpp.h"
#include "emulator/isa/semantics/lanes.h"

DOPPEL_BEGIN_LEVEL

namespace {

uint32_t* staged_lanes(Wave& wave, uint32_t source) {
  return wave.staged[source][0].lane.data();
}

void broadcast(uint32_t* lanes, uint32_t value) {
  for (int l = 0; l < kLanes; ++l) lanes[l] = value;
}

/// The halves of a register that OP_SEL and OP_SEL_HI choose.
void select_halves(uint32_t* lanes, uint32_t low, uint32_t high) {
  const uint32_t low_shift = low * 16, high_shift = high * 16;
  for (int l = 0; l < kLanes; ++l) {
    lanes[l] = (lanes[l] >> low_shift & 0xffff) | (lanes[l] >> high_shift & 0xffff) << 16;
  }
}

void select_sub_dword(uint32_t* lanes, const SourceStage& stage) {
  const bool byte = stage.sdwa_select < 4;
  const uint32_t shift = byte ? stage.sdwa_select * 8u : (stage.sdwa_select - 4u) * 16;
  const uint32_t unused = byte ? 24 : 16;
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t left = lanes[l] >> shift << unused;
    lanes[l] = stage.sdwa_sign_extend ? static_cast<uint32_t>(static_cast<int32_t>(left) >> unused)
                                      : left >> unused;
  }
}

void modify(uint32_t* lanes, const SourceStage& stage) {
  if (stage.sdwa_select != kSdwaDword) select_sub_dword(lanes, stage);
  if (stage.low_half != 0 || stage.high_half != 1) {
    select_halves(lanes, stage.low_half, stage.high_half);
  }
  if (stage.half_to_float) {
    alignas(64) float floats[kLanes];
    halves_to_floats(lanes, floats);
    std::memcpy(lanes, floats, sizeof floats);
  }
  uint32_t* last = lanes + (stage.registers - 1) * kLanes;
  for (int l = 0; l < kLanes; ++l) last[l] = (last[l] & stage.and_mask) ^ stage.xor_mask;
}

void stage_lanes(Wave& wave, const InstExtra& extra) {
  for (uint32_t i = 0; i < 3; ++i) {
    const SourceStage& stage = extra.stages[i];
    if (stage.how != Stage::Lanes) continue;
    uint32_t* lanes = staged_lanes(wave, i);
    std::memcpy(lanes, wave.place(stage.base, stage.offset),
                stage.registers * sizeof(emu::LaneRegister));
    modify(lanes, stage);
  }
}

/// Scalar sources: the same for both halves of a wave64, so read before either writes.
void stage_scalars(Wave& wave, const InstExtra& extra) {
  for (uint32_t i = 0; i < 3; ++i) {
    const SourceStage& stage = extra.stages[i];
    if (stage.how != Stage::Broadcast) continue;
    const std::byte* from = wave.place(stage.base, stage.offset);
    uint32_t* lanes = staged_lanes(wave, i);
    for (uint32_t r = 0; r < stage.registers; ++r) {
      uint32_t value;
      std::memcpy(&value, from + r * 4, sizeof value);
      broadcast(lanes + r * kLanes, value);
    }
    if (stage.changes_value()) modify(lanes, stage);
  }
}

bool writes_exec(const Inst* inst) {
  const Row& row = all_rows()[inst->row];
  return row.format == Format::VOPC && row.dst == None;
}
bool writes_vgpr(const Inst* inst) {
  const Row& row = all_rows()[inst->row];
  return row.dst != None && row.dst != Mask && row.dst != Sgpr;
}

/// The part of the destination that SDWA selects = the result's low bits; the rest becomes 0, the
/// sign, or stays.
void merge_sub_dword(Wave& wave, const Inst& inst) {
  const InstExtra& extra = *inst.extra;
  const bool byte = extra.sdwa_destination < 4;
  const uint32_t bits = byte ? 8 : 16;
  const uint32_t shift = byte ? extra.sdwa_destination * 8u : (extra.sdwa_destination - 4u) * 16;
  const uint32_t field = ((1u << bits) - 1) << shift;
  const uint32_t* results = wave.vgpr(emu::kTemporaryVgpr);
  uint32_t* destination = wave.destination(inst);
  alignas(64) uint32_t merged[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const uint32_t value = results[l] << shift & field;
    const uint32_t sign = (results[l] >> (bits - 1) & 1) != 0 ? ~0u << shift & ~field : 0;
    const uint32_t rest = extra.sdwa_unused == 2   ? destination[l] & ~field
                          : extra.sdwa_unused == 1 ? sign
                                                   : 0;
    merged[l] = value | rest;
  }
  blend(destination, merged, wave.exec_half());
}

const Inst* prepared32(Wave& wave, const Inst* inst) {
  stage_scalars(wave, *inst->extra);
  stage_lanes(wave, *inst->extra);
  return inst->body(wave, inst);
}

const Inst* prepared64(Wave& wave, const Inst* inst) {
  stage_scalars(wave, *inst->extra);
  const Inst* next = nullptr;
  for (uint32_t half = 0; half < 2; ++half) {
    wave.select_half(half);
    stage_lanes(wave, *inst->extra);
    next = inst->body(wave, inst);
    if (next == nullptr) break;
  }
  wave.select_half(0);
  return next;
}

const Inst* halves(Wave& wave, const Inst* inst) {
  const Inst* next = inst->body(wave, inst);
  if (next != nullptr) {
    wave.select_half(1);
    next = inst->body(wave, inst);
    wave.select_half(0);
  }
  return next;
}

const Inst* dual(Wave& wave, const Inst* inst) {
  const Inst* second = inst->extra->pair;
  inst->extra->first->handler(wave, inst->extra->first);
  second->handler(wave, second);
  return inst + 1;
}

/// Each half reads the other's destination: the first writes a temporary register until the second
/// has read.
const Inst* dual_swap(Wave& wave, const Inst* inst) {
  const Inst* second = inst->extra->pair;
  Inst first = *inst->extra->first;
  const uint32_t vdst = first.vdst;
  first.vdst = emu::kTemporaryVgpr * sizeof(emu::LaneRegister);
  first.destination_is_source = false;
  first.handler(wave, &first);
  second->handler(wave, second);
  blend(wave.vgpr(vdst / sizeof(emu::LaneRegister)), wave.vgpr(emu::kTemporaryVgpr),
        wave.exec_half());
  return inst + 1;
}

/// Runs `body` once per half of the wave.
template <class Body>
const Inst* per_half(Wave& wave, Body body) {
  const Inst* next = nullptr;
  for (uint32_t half = 0; half < wave.lanes / kLanes; ++half) {
    wave.select_half(half);
    next = body();
    if (next == nullptr) break;
  }
  wave.select_half(0);
  return next;
}

const Inst* refresh_special(Wave& wave, const Inst* inst) {
  wave.vccz = wave.mask(kVccLo) == 0;
  wave.execz = wave.mask(kExecLo) == 0;
  if (inst->extra == nullptr) return inst->body(wave, inst);
  return wave.wave64() ? prepared64(wave, inst) : prepared32(wave, inst);
}

/// Runs the body per half with its own write mask in EXEC: lanes that DPP's row and bank masks
/// exclude, and those whose source lane does not exist, keep their destination.
const Inst* dpp(Wave& wave, const Inst* inst) {
  const InstExtra& extra = *inst->extra;
  stage_scalars(wave, extra);
  return per_half(wave, [&] {
    stage_lanes(wave, extra);
    const uint32_t exec = wave.exec_half();
    const uint32_t enabled = move_lanes(extra, exec, staged_lanes(wave, 0));
    wave.s[kExecLo + wave.half] = exec & enabled;
    const Inst* next = inst->body(wave, inst);
    if (!writes_exec(inst)) wave.s[kExecLo + wave.half] = exec;
    return next;
  });
}

/// Runs the body into a temporary register, then puts the selected part into the destination.
const Inst* sdwa(Wave& wave, const Inst* inst) {
  const InstExtra& extra = *inst->extra;
  stage_scalars(wave, extra);
  const bool whole = extra.sdwa_destination == kSdwaDword || !writes_vgpr(inst);
  Inst redirected = *inst;
  if (!whole) redirected.vdst = emu::kTemporaryVgpr * sizeof(emu::LaneRegister);
  return per_half(wave, [&] {
    stage_lanes(wave, extra);
    inst->body(wave, &redirected);
    if (!whole) merge_sub_dword(wave, *inst);
    return inst + 1;
  });
}

}  // namespace

extern const HandlerTable kWrappers = {
    .rows = {},
    .prepared32 = &prepared32,
    .prepared64 = &prepared64,
    .halves = &halves,
    .dpp = &dpp,
    .sdwa = &sdwa,
    .dual = &dual,
    .dual_swap = &dual_swap,
    .refresh_special = &refresh_special,
};

const Inst* with_mode64(Wave& wave, const Inst* inst, Handler body) {
  wave.in_mode64 = true;
  _mm_setcsr(wave.mode.mxcsr64());
  const Inst* next = body(wave, inst);
  _mm_setcsr(wave.mode.mxcsr32());
  wave.in_mode64 = false;
  return next;
}

namespace {

/// OMOD counts only where MODE neither keeps output denormals nor asks for IEEE behaviour.
template <class T>
T modified(T value, const OutputModifiers& out, bool scale, bool clamp_nan_to_zero) {
  constexpr T kScale[] = {1, 2, 4, T{0.5}};
  if (scale) value *= kScale[out.omod];
  if (!out.clamp) return value;
  if (value != value) return clamp_nan_to_zero ? T{0} : value;
  return value < T{0} ? T{0} : value > T{1} ? T{1} : value;
}

}  // namespace

void apply_output_modifiers_f32(const Wave& wave, const Inst& inst, float* results) {
  const bool scale = !wave.mode.ieee() && wave.mode.flush_out32();
  for (int l = 0; l < kLanes; ++l) {
    results[l] = modified(results[l], inst.out, scale, wave.mode.dx10_clamp());
  }
}
void apply_output_modifiers_f16(const Wave& wave, const Inst& inst, float* results) {
  const bool scale = !wave.mode.ieee() && wave.mode.flush_out64();
  for (int l = 0; l < kLanes; ++l) {
    results[l] = modified(results[l], inst.out, scale, wave.mode.dx10_clamp());
  }
}
void apply_output_modifiers_f64(const Wave& wave, const Inst& inst, uint32_t* results) {
  const bool scale = !wave.mode.ieee() && wave.mode.flush_out64();
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t bits = results[l] | uint64_t{results[l + kLanes]} << 32;
    const auto value = std::bit_cast<uint64_t>(
        modified(std::bit_cast<double>(bits), inst.out, scale, wave.mode.dx10_clamp()));
    results[l] = static_cast<uint32_t>(value);
    results[l + kLanes] = static_cast<uint32_t>(value >> 32);
  }
}

DOPPEL_END_LEVEL
