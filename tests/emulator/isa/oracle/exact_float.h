// Exact arithmetic on floating-point numbers, slow and plain: every finite value is an integer
// multiple of a tiny unit, so that sums and products are integer arithmetic and the only rounding
// is the last step. Shares nothing with the interpreter; knows nothing of the host's FPU.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>

namespace doppel::oracle {

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint64_t sign_bit() const { return uint64_t{1} << (bits() - 1); }
  constexpr uint64_t infinity() const {
    return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  constexpr uint64_t quiet_bit() const { return uint64_t{1} << (mantissa_bits - 1); }
  constexpr uint64_t default_nan() const { return infinity() | quiet_bit(); }
  constexpr uint64_t magnitude(uint64_t value) const { return value & (sign_bit() - 1); }
  constexpr bool negative(uint64_t value) const { return (value & sign_bit()) != 0; }
  constexpr bool is_nan(uint64_t value) const { return magnitude(value) > infinity(); }
  constexpr bool is_signaling(uint64_t value) const {
    return is_nan(value) && (value & quiet_bit()) == 0;
  }
  constexpr bool is_infinite(uint64_t value) const { return magnitude(value) == infinity(); }
  constexpr bool is_zero(uint64_t value) const { return magnitude(value) == 0; }
  constexpr bool is_denormal(uint64_t value) const {
    return !is_zero(value) && magnitude(value) < uint64_t{1} << mantissa_bits;
  }
};

inline constexpr FloatFormat kF16{5, 10};
inline constexpr FloatFormat kBf16{8, 7};
inline constexpr FloatFormat kF32{8, 23};
inline constexpr FloatFormat kF64{11, 52};

/// With the numbers of MODE.round.
enum class Rounding : uint8_t {
  NearestEven = 0,
  TowardPositive = 1,
  TowardNegative = 2,
  TowardZero = 3
};

/// An exact real number: sign and integer multiple of 2^-2200. Holds any sum of a few products of
/// two f64 values.
class Exact {
 public:
  Exact() = default;
  /// (-1)^negative * mantissa * 2^exponent.
  Exact(bool negative, unsigned __int128 mantissa, int exponent);

  /// The value of a finite number.
  static Exact from_float(const FloatFormat& format, uint64_t bits);
  static Exact from_integer(int64_t value);
  static Exact product(const FloatFormat& format, uint64_t a, uint64_t b);

  bool is_zero() const;
  bool negative() const { return negative_; }
  Exact operator-() const;
  friend Exact operator+(const Exact& a, const Exact& b);
  std::strong_ordering compare_magnitude(const Exact& other) const;

  /// The value multiplied with 2^exponent.
  Exact scaled(int exponent) const;

  /// The nearest representable number as `rounding` says; overflow to infinity or the largest
  /// finite number. A zero result has the sign `zero_negative`.
  uint64_t to_float(const FloatFormat& format, Rounding rounding, bool zero_negative) const;

  /// Rounded to an integer, still exact. nullopt if its magnitude is beyond 2^127.
  std::optional<__int128> to_integer(Rounding rounding) const;

 private:
  static constexpr int kWords = 72;
  static constexpr int kUnitExponent = -2200;

  int top_bit() const;  // index of the most significant bit set, -1 for 0
  bool bit(int index) const;
  bool any_below(int index) const;
  unsigned __int128 bits_from(int index) const;  // floor(magnitude / 2^index), must fit
  static bool round_up(Rounding rounding, bool negative, bool odd, bool half, bool sticky);

  std::array<uint64_t, kWords> magnitude_{};
  bool negative_ = false;
};

}  // namespace doppel::oracle
