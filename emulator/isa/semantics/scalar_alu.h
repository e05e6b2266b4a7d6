// The scalar ALU: SOP1, SOP2, SOPC and SOPK operations. RDNA3 ISA manual, "Instruction
// definitions".
#pragma once

#include <bit>
#include <cstdint>

#include "emulator/isa/semantics/scalar.h"

DOPPEL_BEGIN_LEVEL

constexpr int32_t as_signed(uint32_t value) {
  return static_cast<int32_t>(value);
}
constexpr int64_t as_signed(uint64_t value) {
  return static_cast<int64_t>(value);
}

/// Result that sets SCC to "not zero".
template <class T>
T scc_nonzero(Wave& wave, T value) {
  wave.scc = value != 0;
  return value;
}

inline constexpr auto s_mov_b32 = [](Wave&, uint32_t a) { return a; };
inline constexpr auto s_mov_b64 = [](Wave&, uint64_t a) { return a; };
inline constexpr auto s_cmov_b32 = [](Wave& w, auto a, auto old) { return w.scc ? a : old; };
inline constexpr auto s_cmov_b64 = s_cmov_b32;

inline constexpr auto s_add_u32 = [](Wave& w, uint32_t a, uint32_t b) {
  const uint32_t sum = a + b;
  w.scc = sum < a;
  return sum;
};
inline constexpr auto s_addc_u32 = [](Wave& w, uint32_t a, uint32_t b) {
  const uint64_t sum = uint64_t{a} + b + w.scc;
  w.scc = static_cast<uint32_t>(sum >> 32);
  return static_cast<uint32_t>(sum);
};
inline constexpr auto s_sub_u32 = [](Wave& w, uint32_t a, uint32_t b) {
  w.scc = a < b;
  return a - b;
};
inline constexpr auto s_subb_u32 = [](Wave& w, uint32_t a, uint32_t b) {
  const uint64_t subtrahend = uint64_t{b} + w.scc;
  w.scc = a < subtrahend;
  return static_cast<uint32_t>(a - subtrahend);
};
inline constexpr auto s_add_i32 = [](Wave& w, uint32_t a, uint32_t b) {
  const uint32_t sum = a + b;
  w.scc = ((a ^ sum) & (b ^ sum)) >> 31;
  return sum;
};
inline constexpr auto s_sub_i32 = [](Wave& w, uint32_t a, uint32_t b) {
  const uint32_t difference = a - b;
  w.scc = ((a ^ b) & (a ^ difference)) >> 31;
  return difference;
};
inline constexpr auto s_absdiff_i32 = [](Wave& w, uint32_t a, uint32_t b) {
  const uint32_t difference = as_signed(a) > as_signed(b) ? a - b : b - a;
  return scc_nonzero(w, difference);
};
inline constexpr auto s_abs_i32 = [](Wave& w, uint32_t a) {
  return scc_nonzero(w, as_signed(a) < 0 ? 0 - a : a);
};

inline constexpr auto s_and_b32 = [](Wave& w, auto a, auto b) { return scc_nonzero(w, a & b); };
inline constexpr auto s_and_b64 = s_and_b32;
inline constexpr auto s_or_b32 = [](Wave& w, auto a, auto b) { return scc_nonzero(w, a | b); };
inline constexpr auto s_or_b64 = s_or_b32;
inline constexpr auto s_xor_b32 = [](Wave& w, auto a, auto b) { return scc_nonzero(w, a ^ b); };
inline constexpr auto s_xor_b64 = s_xor_b32;
inline constexpr auto s_nand_b32 = [](Wave& w, auto a, auto b) { return scc_nonzero(w, ~(a & b)); };
inline constexpr auto s_nand_b64 = s_nand_b32;
inline constexpr auto s_nor_b32 = [](Wave& w, auto a, auto b) { return scc_nonzero(w, ~(a | b)); };
inline constexpr auto s_nor_b64 = s_nor_b32;
inline constexpr auto s_xnor_b32 = [](Wave& w, auto a, auto b) { return scc_nonzero(w, ~(a ^ b)); };
inline constexpr auto s_xnor_b64 = s_xnor_b32;
inline constexpr auto s_and_not1_b32 = [](Wave& w, auto a, auto b) {
  return scc_nonzero(w, a & ~b);
};
inline constexpr auto s_and_not1_b64 = s_and_not1_b32;
inline constexpr auto s_or_not1_b32 = [](Wave& w, auto a, auto b) {
  return scc_nonzero(w, a | ~b);
};
inline constexpr auto s_or_not1_b64 = s_or_not1_b32;
inline constexpr auto s_not_b32 = [](Wave& w, auto a) { return scc_nonzero(w, ~a); };
inline constexpr auto s_not_b64 = s_not_b32;

inline constexpr auto s_lshl_b32 = [](Wave& w, auto a, uint32_t n) {
  return scc_nonzero(w, a << (n & (sizeof a * 8 - 1)));
};
inline constexpr auto s_lshl_b64 = s_lshl_b32;
inline constexpr auto s_lshr_b32 = [](Wave& w, auto a, uint32_t n) {
  return scc_nonzero(w, a >> (n & (sizeof a * 8 - 1)));
};
inline constexpr auto s_lshr_b64 = s_lshr_b32;
inline constexpr auto s_ashr_i32 = [](Wave& w, auto a, uint32_t n) {
  return scc_nonzero(w, static_cast<decltype(a)>(as_signed(a) >> (n & (sizeof a * 8 - 1))));
};
inline constexpr auto s_ashr_i64 = s_ashr_i32;

template <int kShift>
constexpr auto shift_add = [](Wave& w, uint32_t a, uint32_t b) {
  const uint64_t sum = (uint64_t{a} << kShift) + b;
  w.scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
};
inline constexpr auto s_lshl1_add_u32 = shift_add<1>;
inline constexpr auto s_lshl2_add_u32 = shift_add<2>;
inline constexpr auto s_lshl3_add_u32 = shift_add<3>;
inline constexpr auto s_lshl4_add_u32 = shift_add<4>;

// SCC: the first operand was chosen; S_MAX chooses it among equals.
inline constexpr auto s_min_i32 = [](Wave& w, uint32_t a, uint32_t b) {
  w.scc = as_signed(a) < as_signed(b);
  return w.scc ? a : b;
};
inline constexpr auto s_min_u32 = [](Wave& w, uint32_t a, uint32_t b) {
  w.scc = a < b;
  return w.scc ? a : b;
};
inline constexpr auto s_max_i32 = [](Wave& w, uint32_t a, uint32_t b) {
  w.scc = as_signed(a) >= as_signed(b);
  return w.scc ? a : b;
};
inline constexpr auto s_max_u32 = [](Wave& w, uint32_t a, uint32_t b) {
  w.scc = a >= b;
  return w.scc ? a : b;
};

inline constexpr auto s_mul_i32 = [](Wave&, uint32_t a, uint32_t b) { return a * b; };
inline constexpr auto s_mul_hi_u32 = [](Wave&, uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{a} * b >> 32);
};
inline constexpr auto s_mul_hi_i32 = [](Wave&, uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(int64_t{as_signed(a)} * as_signed(b) >> 32);
};
inline constexpr auto s_cselect_b32 = [](Wave& w, auto a, auto b) { return w.scc ? a : b; };
inline constexpr auto s_cselect_b64 = s_cselect_b32;

inline constexpr auto s_pack_ll_b32_b16 = [](Wave&, uint32_t a, uint32_t b) {
  return (a & 0xffff) | b << 16;
};
inline constexpr auto s_pack_lh_b32_b16 = [](Wave&, uint32_t a, uint32_t b) {
  return (a & 0xffff) | (b & 0xffff0000);
};
inline constexpr auto s_pack_hh_b32_b16 = [](Wave&, uint32_t a, uint32_t b) {
  return a >> 16 | (b & 0xffff0000);
};
inline constexpr auto s_pack_hl_b32_b16 = [](Wave&, uint32_t a, uint32_t b) {
  return a >> 16 | b << 16;
};

// Bit fields: source 1 holds the offset (low bits) and the width (bits 22:16).
template <class T>
T bit_field(T value, uint32_t control) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  const uint32_t offset = control & (kBits - 1);
  const uint32_t width = control >> 16 & 0x7f;
  const T shifted = value >> offset;
  return width >= kBits ? shifted : shifted & ((T{1} << width) - 1);
}
template <class T>
T signed_bit_field(T value, uint32_t control) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  const uint32_t offset = control & (kBits - 1);
  const uint32_t width = control >> 16 & 0x7f;
  if (width == 0) return 0;
  const T shifted = static_cast<T>(as_signed(value) >> offset);
  if (width >= kBits) return shifted;
  return static_cast<T>(as_signed(static_cast<T>(shifted << (kBits - width))) >> (kBits - width));
}
inline constexpr auto s_bfe_u32 = [](Wave& w, auto a, uint32_t control) {
  return scc_nonzero(w, bit_field(a, control));
};
inline constexpr auto s_bfe_u64 = s_bfe_u32;
inline constexpr auto s_bfe_i32 = [](Wave& w, auto a, uint32_t control) {
  return scc_nonzero(w, signed_bit_field(a, control));
};
inline constexpr auto s_bfe_i64 = s_bfe_i32;
inline constexpr auto s_bfm_b32 = [](Wave&, uint32_t width, uint32_t offset) {
  return ((1u << (width & 31)) - 1) << (offset & 31);
};
inline constexpr auto s_bfm_b64 = [](Wave&, uint32_t width, uint32_t offset) {
  return ((uint64_t{1} << (width & 63)) - 1) << (offset & 63);
};

inline constexpr auto s_brev_b32 = [](Wave&, auto a) {
  decltype(a) reversed = 0;
  for (uint32_t bit = 0; bit < sizeof a * 8; ++bit) {
    reversed = reversed << 1 | (a >> bit & 1);
  }
  return reversed;
};
inline constexpr auto s_brev_b64 = s_brev_b32;
inline constexpr auto s_ctz_i32_b32 = [](Wave&, auto a) {
  return a == 0 ? -1 : std::countr_zero(a);
};
inline constexpr auto s_ctz_i32_b64 = s_ctz_i32_b32;
inline constexpr auto s_ff0_i32_b32 = [](Wave& w, auto a) {
  return s_ctz_i32_b32(w, static_cast<decltype(a)>(~a));
};
inline constexpr auto s_ff0_i32_b64 = s_ff0_i32_b32;
inline constexpr auto s_clz_i32_u32 = [](Wave&, auto a) {
  return a == 0 ? -1 : std::countl_zero(a);
};
inline constexpr auto s_clz_i32_u64 = s_clz_i32_u32;
// Leading bits equal to the sign bit; -1 if all are.
inline constexpr auto s_cls_i32 = [](Wave& w, auto a) {
  const auto differing = static_cast<decltype(a)>(as_signed(a) < 0 ? ~a : a);
  return s_clz_i32_u32(w, differing);
};
inline constexpr auto s_cls_i32_i64 = s_cls_i32;
inline constexpr auto s_sext_i32_i8 = [](Wave&, uint32_t a) {
  return static_cast<int32_t>(static_cast<int8_t>(a));
};
inline constexpr auto s_sext_i32_i16 = [](Wave&, uint32_t a) {
  return static_cast<int32_t>(static_cast<int16_t>(a));
};
inline constexpr auto s_bitset0_b32 = [](Wave&, uint32_t bit, auto old) {
  return old & ~(decltype(old){1} << (bit & (sizeof old * 8 - 1)));
};
inline constexpr auto s_bitset0_b64 = s_bitset0_b32;
inline constexpr auto s_bitset1_b32 = [](Wave&, uint32_t bit, auto old) {
  return old | decltype(old){1} << (bit & (sizeof old * 8 - 1));
};
inline constexpr auto s_bitset1_b64 = s_bitset1_b32;
inline constexpr auto s_bitreplicate_b64_b32 = [](Wave&, uint32_t a) {
  uint64_t result = 0;
  for (uint32_t bit = 0; bit < 32; ++bit) result |= uint64_t{3} * (a >> bit & 1) << (2 * bit);
  return result;
};
inline constexpr auto s_bcnt0_i32_b32 = [](Wave& w, auto a) {
  return scc_nonzero(w, std::popcount(static_cast<decltype(a)>(~a)));
};
inline constexpr auto s_bcnt0_i32_b64 = s_bcnt0_i32_b32;
inline constexpr auto s_bcnt1_i32_b32 = [](Wave& w, auto a) {
  return scc_nonzero(w, std::popcount(a));
};
inline constexpr auto s_bcnt1_i32_b64 = s_bcnt1_i32_b32;

// One bit per group of four lanes; whole quad mode: all four of it.
template <class T>
T any_of_quad(T lanes) {
  constexpr T kFirst = static_cast<T>(0x1111111111111111);
  return (lanes | lanes >> 1 | lanes >> 2 | lanes >> 3) & kFirst;
}
inline constexpr auto s_quadmask_b32 = [](Wave& w, auto a) {
  const auto quads = any_of_quad(a);
  decltype(a) packed = 0;
  for (uint32_t quad = 0; quad < sizeof a * 2; ++quad) packed |= (quads >> (4 * quad) & 1) << quad;
  return scc_nonzero(w, packed);
};
inline constexpr auto s_quadmask_b64 = s_quadmask_b32;
inline constexpr auto s_wqm_b32 = [](Wave& w, auto a) {
  return scc_nonzero(w, static_cast<decltype(a)>(any_of_quad(a) * 15));
};
inline constexpr auto s_wqm_b64 = s_wqm_b32;

// D = EXEC, EXEC = op(S0, EXEC), SCC = EXEC != 0. The 64-bit forms take the register pair.
template <class T>
T exec_as(const Wave& wave) {
  return static_cast<T>(wave.exec());
}
template <class T>
void set_exec(Wave& wave, T value) {
  if constexpr (sizeof(T) == 8) {
    wave.set_pair(kExecLo, value);
  } else {
    wave.s[kExecLo] = value;
  }
  wave.scc = value != 0;
}
template <auto kOperation>
constexpr auto save_exec = [](Wave& w, auto a) {
  const auto old = exec_as<decltype(a)>(w);
  set_exec(w, static_cast<decltype(a)>(kOperation(a, old)));
  return old;
};
template <auto kOperation>
constexpr auto write_exec = [](Wave& w, auto a) {
  set_exec(w, static_cast<decltype(a)>(kOperation(a, exec_as<decltype(a)>(w))));
  return exec_as<decltype(a)>(w);
};
constexpr auto exec_and = [](auto a, auto exec) { return a & exec; };
constexpr auto exec_or = [](auto a, auto exec) { return a | exec; };
constexpr auto exec_xor = [](auto a, auto exec) { return a ^ exec; };
constexpr auto exec_nand = [](auto a, auto exec) { return ~(a & exec); };
constexpr auto exec_nor = [](auto a, auto exec) { return ~(a | exec); };
constexpr auto exec_xnor = [](auto a, auto exec) { return ~(a ^ exec); };
constexpr auto exec_and_not0 = [](auto a, auto exec) { return ~a & exec; };
constexpr auto exec_or_not0 = [](auto a, auto exec) { return ~a | exec; };
constexpr auto exec_and_not1 = [](auto a, auto exec) { return a & ~exec; };
constexpr auto exec_or_not1 = [](auto a, auto exec) { return a | ~exec; };
inline constexpr auto s_and_saveexec_b32 = save_exec<exec_and>;
inline constexpr auto s_and_saveexec_b64 = save_exec<exec_and>;
inline constexpr auto s_or_saveexec_b32 = save_exec<exec_or>;
inline constexpr auto s_or_saveexec_b64 = save_exec<exec_or>;
inline constexpr auto s_xor_saveexec_b32 = save_exec<exec_xor>;
inline constexpr auto s_xor_saveexec_b64 = save_exec<exec_xor>;
inline constexpr auto s_nand_saveexec_b32 = save_exec<exec_nand>;
inline constexpr auto s_nand_saveexec_b64 = save_exec<exec_nand>;
inline constexpr auto s_nor_saveexec_b32 = save_exec<exec_nor>;
inline constexpr auto s_nor_saveexec_b64 = save_exec<exec_nor>;
inline constexpr auto s_xnor_saveexec_b32 = save_exec<exec_xnor>;
inline constexpr auto s_xnor_saveexec_b64 = save_exec<exec_xnor>;
inline constexpr auto s_and_not0_saveexec_b32 = save_exec<exec_and_not0>;
inline constexpr auto s_and_not0_saveexec_b64 = save_exec<exec_and_not0>;
inline constexpr auto s_or_not0_saveexec_b32 = save_exec<exec_or_not0>;
inline constexpr auto s_or_not0_saveexec_b64 = save_exec<exec_or_not0>;
inline constexpr auto s_and_not1_saveexec_b32 = save_exec<exec_and_not1>;
inline constexpr auto s_and_not1_saveexec_b64 = save_exec<exec_and_not1>;
inline constexpr auto s_or_not1_saveexec_b32 = save_exec<exec_or_not1>;
inline constexpr auto s_or_not1_saveexec_b64 = save_exec<exec_or_not1>;
inline constexpr auto s_and_not0_wrexec_b32 = write_exec<exec_and_not0>;
inline constexpr auto s_and_not0_wrexec_b64 = write_exec<exec_and_not0>;
inline constexpr auto s_and_not1_wrexec_b32 = write_exec<exec_and_not1>;
inline constexpr auto s_and_not1_wrexec_b64 = write_exec<exec_and_not1>;

#define DOPPEL_SCALAR_COMPARE(name, type, op)                        \
  inline constexpr auto s_cmp_##name = [](Wave& w, auto a, auto b) { \
    w.scc = static_cast<type>(a) op static_cast<type>(b);            \
  };                                                                 \
  inline constexpr auto s_cmpk_##name = s_cmp_##name;
DOPPEL_SCALAR_COMPARE(eq_i32, int32_t, ==)
DOPPEL_SCALAR_COMPARE(lg_i32, int32_t, !=)
DOPPEL_SCALAR_COMPARE(gt_i32, int32_t, >)
DOPPEL_SCALAR_COMPARE(ge_i32, int32_t, >=)
DOPPEL_SCALAR_COMPARE(lt_i32, int32_t, <)
DOPPEL_SCALAR_COMPARE(le_i32, int32_t, <=)
DOPPEL_SCALAR_COMPARE(eq_u32, uint32_t, ==)
DOPPEL_SCALAR_COMPARE(lg_u32, uint32_t, !=)
DOPPEL_SCALAR_COMPARE(gt_u32, uint32_t, >)
DOPPEL_SCALAR_COMPARE(ge_u32, uint32_t, >=)
DOPPEL_SCALAR_COMPARE(lt_u32, uint32_t, <)
DOPPEL_SCALAR_COMPARE(le_u32, uint32_t, <=)
DOPPEL_SCALAR_COMPARE(eq_u64, uint64_t, ==)
DOPPEL_SCALAR_COMPARE(lg_u64, uint64_t, !=)
#undef DOPPEL_SCALAR_COMPARE
inline constexpr auto s_bitcmp0_b32 = [](Wave& w, auto a, uint32_t bit) {
  w.scc = (a >> (bit & (sizeof a * 8 - 1)) & 1) == 0;
};
inline constexpr auto s_bitcmp0_b64 = s_bitcmp0_b32;
inline constexpr auto s_bitcmp1_b32 = [](Wave& w, auto a, uint32_t bit) {
  w.scc = (a >> (bit & (sizeof a * 8 - 1)) & 1) != 0;
};
inline constexpr auto s_bitcmp1_b64 = s_bitcmp1_b32;

inline constexpr auto s_movk_i32 = [](Wave&, uint32_t immediate) { return immediate; };
inline constexpr auto s_cmovk_i32 = [](Wave& w, uint32_t old, uint32_t immediate) {
  return w.scc ? immediate : old;
};
inline constexpr auto s_addk_i32 = s_add_i32;
inline constexpr auto s_mulk_i32 = s_mul_i32;

DOPPEL_END_LEVEL
