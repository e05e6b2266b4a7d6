// Mode: the MODE hardware register of a wave (rounding, denormals, clamp and IEEE behaviour), and
// the host's MXCSR values that make SSE arithmetic follow it.
//
// Bits (RDNA3 ISA manual, "Mode register"): 1:0 f32 rounding, 3:2 f16/f64 rounding (0 nearest even,
// 1 +inf, 2 -inf, 3 zero); 5:4 f32 denormals, 7:6 f16/f64 denormals (bit 0: inputs kept, bit 1:
// outputs kept); 8 DX10_CLAMP; 9 IEEE; 23 FP16_OVFL.
#pragma once

#include <cstdint>

namespace doppel::emu {

class Mode {
 public:
  constexpr uint32_t bits() const { return bits_; }
  constexpr void set(uint32_t bits) {
    bits_ = bits;
    mxcsr32_ = mxcsr(bits & 3, bits >> 4 & 3);
    mxcsr64_ = mxcsr(bits >> 2 & 3, bits >> 6 & 3);
  }

  constexpr uint32_t round32() const { return bits_ & 3; }
  constexpr uint32_t round64() const { return bits_ >> 2 & 3; }
  constexpr bool flush_in32() const { return (bits_ & 0x10) == 0; }
  constexpr bool flush_out32() const { return (bits_ & 0x20) == 0; }
  constexpr bool flush_in64() const { return (bits_ & 0x40) == 0; }
  constexpr bool flush_out64() const { return (bits_ & 0x80) == 0; }
  constexpr bool dx10_clamp() const { return (bits_ & 0x100) != 0; }
  constexpr bool ieee() const { return (bits_ & 0x200) != 0; }
  constexpr bool fp16_overflow() const { return (bits_ & 0x800000) != 0; }

  /// MXCSR for f32 arithmetic, and for f16 and f64 where it differs.
  constexpr uint32_t mxcsr32() const { return mxcsr32_; }
  constexpr uint32_t mxcsr64() const { return mxcsr64_; }
  constexpr bool split() const { return mxcsr32_ != mxcsr64_; }

 private:
  static constexpr uint32_t mxcsr(uint32_t round, uint32_t denormals) {
    constexpr uint32_t kRounding[] = {0, 2, 1, 3};  // MXCSR.RC: nearest, down, up, zero
    constexpr uint32_t kAllMasked = 0x1f80, kDaz = 0x40, kFtz = 0x8000;
    return kAllMasked | kRounding[round] << 13 | ((denormals & 1) ? 0 : kDaz) |
           ((denormals & 2) ? 0 : kFtz);
  }

  uint32_t bits_ = 0xf0;
  uint32_t mxcsr32_ = 0x1f80;
  uint32_t mxcsr64_ = 0x1f80;
};

}  // namespace doppel::emu
