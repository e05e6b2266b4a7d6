// WMMA: 16x16 matrices across the lanes of a wave, D = A * B + C.
//
// Layout (RDNA3 ISA manual, "Wave Matrix Multiply Accumulate"): lane l holds row l % 16 of A and
// column l % 16 of B, 16 elements each, the same in every group of 16 lanes. Register i of C and D
// holds row groups * i + l / 16 of column l % 16, groups = lanes / 16. 16-bit C and D take the low
// half of the register, or the high half by OP_SEL[2].
#pragma once

#include "emulator/isa/semantics/packed.h"

DOPPEL_BEGIN_LEVEL

/// A or B: element k of line (row or column) l at [k][l]; 16 of the 32 columns count.
struct Matrix {
  alignas(64) float at[16][kLanes];
};

/// How an element type sits in A, B, C and D.
struct WmmaF16Elements {
  static void load(const uint32_t* bits, float* values) { halves_to_floats(bits, values); }
  static float load(uint32_t bits) { return half_to_float(bits); }
  static uint32_t store(float value) { return float_to_half(value); }
};
struct WmmaBF16Elements {
  static void load(const uint32_t* bits, float* values) {
    for (int l = 0; l < kLanes; ++l) values[l] = bfloat_to_float(bits[l] & 0xffff);
  }
  static float load(uint32_t bits) { return bfloat_to_float(bits); }
  static uint32_t store(float value) { return float_to_bfloat(value); }
};

/// Access to the 32-bit registers of a matrix operand, over both halves of a wave64.
class MatrixOperand {
 public:
  MatrixOperand(Wave& wave, const Inst& inst, uint32_t source)
      : wave_(wave),
        constant_(inst.base[source] == Base::Vgpr ? nullptr : wave.source(inst, source)),
        first_(static_cast<uint32_t>(inst.source[source] /
                                     static_cast<int64_t>(sizeof(emu::LaneRegister)))) {}
  /// 32 lanes of register `index` in half `half`; a constant is the same in all of them.
  const uint32_t* lanes(uint32_t index, uint32_t half) const {
    if (constant_ != nullptr) return reinterpret_cast<const uint32_t*>(constant_);
    return wave_.vgprs[half * emu::kVgprSlots + first_ + index].lane.data();
  }
  uint32_t at(uint32_t index, uint32_t lane) const {
    if (constant_ != nullptr) {
      uint32_t value;
      std::memcpy(&value, constant_, sizeof value);
      return value;
    }
    return wave_.vgprs[lane / 32 * emu::kVgprSlots + first_ + index].lane[lane % 32];
  }

 private:
  Wave& wave_;
  const std::byte* constant_;
  uint32_t first_;
};

/// NEG flips the low, NEG_HI the high elements of A and B; of C, NEG negates and NEG_HI takes the
/// absolute value.
inline float modified_c(float value, const InstExtra& extra) {
  if ((extra.neg_hi & 4) != 0) value = std::abs(value);
  return (extra.neg & 4) != 0 ? -value : value;
}

template <class Elements>
void load_matrix(const MatrixOperand& operand, const InstExtra& extra, uint32_t source,
                 Matrix& matrix) {
  const uint32_t flip = ((extra.neg >> source & 1) != 0 ? 0x8000u : 0) |
                        ((extra.neg_hi >> source & 1) != 0 ? 0x80000000u : 0);
  for (uint32_t i = 0; i < 8; ++i) {
    alignas(64) uint32_t low[kLanes], high[kLanes];
    const uint32_t* pairs = operand.lanes(i, 0);
    for (int l = 0; l < kLanes; ++l) {
      low[l] = pairs[l] ^ flip;
      high[l] = low[l] >> 16;
    }
    Elements::load(low, matrix.at[2 * i]);
    Elements::load(high, matrix.at[2 * i + 1]);
  }
}

constexpr uint32_t kRowBlock = 4;  // rows at a time: independent sums keep the adders busy

#ifdef __AVX__
constexpr int kVectorFloats = 8;
#else
constexpr int kVectorFloats = 4;
#endif
using FloatVector [[gnu::vector_size(kVectorFloats * sizeof(float))]] = float;

/// Rows `first`... of A * B. The products are summed in order of k, C is added last: hardware's
/// order is not documented, this is that of the captured kernels' results.
inline void multiply_rows(const Matrix& a, const Matrix& b, uint32_t first,
                          float (&sums)[kRowBlock][16]) {
  constexpr int kVectors = 16 / kVectorFloats;
  FloatVector accumulators[kRowBlock][kVectors] = {};
  for (int k = 0; k < 16; ++k) {
    FloatVector line[kVectors];
    std::memcpy(line, b.at[k], sizeof line);
#pragma GCC unroll 4
    for (uint32_t row = 0; row < kRowBlock; ++row) {
      const float factor = a.at[k][first + row];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) accumulators[row][v] += factor * line[v];
    }
  }
  std::memcpy(sums, accumulators, sizeof accumulators);
}

template <class Elements, bool kWideResult>
struct wmma_float {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    static constexpr InstExtra kNoModifiers{};
    const InstExtra& extra = inst->extra != nullptr ? *inst->extra : kNoModifiers;
    const MatrixOperand a(wave, *inst, 0), b(wave, *inst, 1), c(wave, *inst, 2);
    Matrix rows, columns;
    load_matrix<Elements>(a, extra, 0, rows);
    load_matrix<Elements>(b, extra, 1, columns);
    const uint32_t groups = wave.lanes / 16;
    const uint32_t shift = !kWideResult && (extra.op_sel & 4) != 0 ? 16 : 0;
    const uint32_t first = inst->vdst / static_cast<uint32_t>(sizeof(emu::LaneRegister));
    uint32_t results[8][64];
    for (uint32_t first_row = 0; first_row < 16; first_row += kRowBlock) {
      alignas(64) float sums[kRowBlock][16];
      multiply_rows(rows, columns, first_row, sums);
      for (uint32_t row = first_row; row < first_row + kRowBlock; ++row) {
        const uint32_t i = row / groups, lane = row % groups * 16;
        const uint32_t* addends = c.lanes(i, lane / kLanes) + lane % kLanes;
        for (uint32_t column = 0; column < 16; ++column) {
          const uint32_t bits = addends[column];
          const float addend = modified_c(
              kWideResult ? std::bit_cast<float>(bits) : Elements::load(bits >> shift & 0xffff),
              extra);
          const float value = sums[row - first_row][column] + addend;
          results[i][lane + column] =
              kWideResult ? std::bit_cast<uint32_t>(value) : Elements::store(value);
        }
      }
    }
    for (uint32_t i = 0; i < 16 / groups; ++i) {
      for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
        uint32_t& out = wave.vgprs[lane / 32 * emu::kVgprSlots + first + i].lane[lane % 32];
        out = kWideResult ? results[i][lane]
                          : (out & ~(0xffffu << shift)) | results[i][lane] << shift;
      }
    }
    return inst + 1;
  }
};
struct wmma_f32_16x16x16_f16 : wmma_float<WmmaF16Elements, true> {};
struct wmma_f32_16x16x16_bf16 : wmma_float<WmmaBF16Elements, true> {};
struct wmma_f16_16x16x16_f16 : wmma_float<WmmaF16Elements, false> {};
struct wmma_bf16_16x16x16_bf16 : wmma_float<WmmaBF16Elements, false> {};

/// NEG[0] and NEG[1]: A and B are signed. CLAMP saturates.
template <uint32_t kBits>
struct wmma_integer {
  static constexpr Scope scope = Scope::Wave;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const uint32_t neg = inst->extra != nullptr ? inst->extra->neg : 0;
    const MatrixOperand a(wave, *inst, 0), b(wave, *inst, 1), c(wave, *inst, 2);
    int32_t rows[16][16], columns[16][16];
    load(a, (neg & 1) != 0, rows);
    load(b, (neg & 2) != 0, columns);
    const uint32_t groups = wave.lanes / 16;
    const uint32_t first = inst->vdst / static_cast<uint32_t>(sizeof(emu::LaneRegister));
    uint32_t results[8][64];
    for (uint32_t i = 0; i < 16 / groups; ++i) {
      for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
        int64_t sum = static_cast<int32_t>(c.at(i, lane));
        for (uint32_t k = 0; k < 16; ++k) {
          sum += int64_t{rows[groups * i + lane / 16][k]} * columns[lane % 16][k];
        }
        results[i][lane] = inst->out.clamp ? static_cast<uint32_t>(saturated<int32_t>(sum))
                                           : static_cast<uint32_t>(sum);
      }
    }
    for (uint32_t i = 0; i < 16 / groups; ++i) {
      for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
        wave.vgprs[lane / 32 * emu::kVgprSlots + first + i].lane[lane % 32] = results[i][lane];
      }
    }
    return inst + 1;
  }

 private:
  static void load(const MatrixOperand& operand, bool is_signed, int32_t (&out)[16][16]) {
    constexpr uint32_t kPerRegister = 32 / kBits;
    for (uint32_t line = 0; line < 16; ++line) {
      for (uint32_t k = 0; k < 16; ++k) {
        const uint32_t left = operand.at(k / kPerRegister, line)
                              << (32 - kBits * (k % kPerRegister + 1));
        out[line][k] = is_signed ? static_cast<int32_t>(left) >> (32 - kBits)
                                 : static_cast<int32_t>(left >> (32 - kBits));
      }
    }
  }
};
struct wmma_i32_16x16x16_iu8 : wmma_integer<8> {};
struct wmma_i32_16x16x16_iu4 : wmma_integer<4> {};

DOPPEL_END_LEVEL
