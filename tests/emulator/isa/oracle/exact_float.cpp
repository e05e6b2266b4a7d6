#include "tests/emulator/isa/oracle/exact_float.h"

#include <bit>
#include <stdexcept>

namespace doppel::oracle {
namespace {

struct Decoded {
  uint64_t mantissa;
  int exponent;  // of the mantissa's bit 0
};

Decoded decode(const FloatFormat& format, uint64_t bits) {
  const uint64_t fraction = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  const auto biased = static_cast<int>(format.magnitude(bits) >> format.mantissa_bits);
  const int exponent = (biased == 0 ? 1 : biased) - format.bias() - format.mantissa_bits;
  return {biased == 0 ? fraction : fraction | uint64_t{1} << format.mantissa_bits, exponent};
}

}  // namespace

Exact::Exact(bool negative, unsigned __int128 mantissa, int exponent) : negative_(negative) {
  const int shift = exponent - kUnitExponent;
  if (shift < 0 || shift / 64 + 3 >= kWords) throw std::out_of_range("beyond exact range");
  const auto word = static_cast<size_t>(shift / 64);
  const int rest = shift % 64;
  const auto low = static_cast<uint64_t>(mantissa);
  const auto high = static_cast<uint64_t>(mantissa >> 64);
  magnitude_[word] = low << rest;
  magnitude_[word + 1] = high << rest | (rest == 0 ? 0 : low >> (64 - rest));
  magnitude_[word + 2] = rest == 0 ? 0 : high >> (64 - rest);
}

Exact Exact::from_float(const FloatFormat& format, uint64_t bits) {
  const Decoded value = decode(format, bits);
  return {format.negative(bits), value.mantissa, value.exponent};
}

Exact Exact::from_integer(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  return {value < 0, value < 0 ? 0 - bits : bits, 0};
}

Exact Exact::product(const FloatFormat& format, uint64_t a, uint64_t b) {
  const Decoded x = decode(format, a);
  const Decoded y = decode(format, b);
  return {format.negative(a) != format.negative(b),
          static_cast<unsigned __int128>(x.mantissa) * y.mantissa, x.exponent + y.exponent};
}

bool Exact::is_zero() const {
  return top_bit() < 0;
}

Exact Exact::operator-() const {
  Exact result = *this;
  result.negative_ = !negative_;
  return result;
}

std::strong_ordering Exact::compare_magnitude(const Exact& other) const {
  for (size_t i = kWords; i-- > 0;) {
    if (auto order = magnitude_[i] <=> other.magnitude_[i]; order != 0) return order;
  }
  return std::strong_ordering::equal;
}

Exact operator+(const Exact& a, const Exact& b) {
  Exact result;
  if (a.negative_ == b.negative_) {
    unsigned __int128 carry = 0;
    for (size_t i = 0; i < Exact::kWords; ++i) {
      carry += static_cast<unsigned __int128>(a.magnitude_[i]) + b.magnitude_[i];
      result.magnitude_[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    result.negative_ = a.negative_;
    return result;
  }
  const bool a_larger = a.compare_magnitude(b) > 0;
  const Exact& larger = a_larger ? a : b;
  const Exact& smaller = a_larger ? b : a;
  uint64_t borrow = 0;
  for (size_t i = 0; i < Exact::kWords; ++i) {
    const unsigned __int128 subtrahend =
        static_cast<unsigned __int128>(smaller.magnitude_[i]) + borrow;
    result.magnitude_[i] = static_cast<uint64_t>(larger.magnitude_[i] - subtrahend);
    borrow = larger.magnitude_[i] < subtrahend ? 1 : 0;
  }
  result.negative_ = larger.negative_;
  return result;
}

Exact Exact::scaled(int exponent) const {
  Exact result;
  result.negative_ = negative_;
  for (int i = 0, top = top_bit(); i <= top; ++i) {
    if (!bit(i)) continue;
    const int to = i + exponent;
    if (to < 0 || to >= kWords * 64) throw std::out_of_range("beyond exact range");
    result.magnitude_[static_cast<size_t>(to / 64)] |= uint64_t{1} << (to % 64);
  }
  return result;
}

int Exact::top_bit() const {
  for (size_t i = kWords; i-- > 0;) {
    if (magnitude_[i] != 0) return static_cast<int>(i) * 64 + 63 - std::countl_zero(magnitude_[i]);
  }
  return -1;
}

bool Exact::bit(int index) const {
  return index >= 0 && (magnitude_[static_cast<size_t>(index / 64)] >> (index % 64) & 1) != 0;
}

bool Exact::any_below(int index) const {
  if (index <= 0) return false;
  const auto word = static_cast<size_t>(index / 64);
  for (size_t i = 0; i < word; ++i) {
    if (magnitude_[i] != 0) return true;
  }
  return (magnitude_[word] & ((uint64_t{1} << (index % 64)) - 1)) != 0;
}

unsigned __int128 Exact::bits_from(int index) const {
  unsigned __int128 result = 0;
  for (int i = top_bit(); i >= index; --i) result = result << 1 | (bit(i) ? 1 : 0);
  return result;
}

bool Exact::round_up(Rounding rounding, bool negative, bool odd, bool half, bool sticky) {
  switch (rounding) {
    case Rounding::NearestEven:
      return half && (sticky || odd);
    case Rounding::TowardPositive:
      return !negative && (half || sticky);
    case Rounding::TowardNegative:
      return negative && (half || sticky);
    case Rounding::TowardZero:
      break;
  }
  return false;
}

uint64_t Exact::to_float(const FloatFormat& format, Rounding rounding, bool zero_negative) const {
  const int top = top_bit();
  if (top < 0) return zero_negative ? format.sign_bit() : 0;
  const uint64_t sign = negative_ ? format.sign_bit() : 0;
  const int min_exponent = 1 - format.bias() - format.mantissa_bits;
  int exponent = top + kUnitExponent - format.mantissa_bits;  // of the result's last bit
  if (exponent < min_exponent) exponent = min_exponent;
  const int index = exponent - kUnitExponent;
  auto mantissa = index > top ? 0 : static_cast<uint64_t>(bits_from(index));
  if (round_up(rounding, negative_, (mantissa & 1) != 0, bit(index - 1), any_below(index - 1))) {
    ++mantissa;
  }
  if (mantissa >> (format.mantissa_bits + 1) != 0) {
    mantissa >>= 1;
    ++exponent;
  }
  const uint64_t implicit = uint64_t{1} << format.mantissa_bits;
  if (mantissa < implicit) return sign | mantissa;
  const int biased = exponent - min_exponent + 1;
  if (biased >= (1 << format.exponent_bits) - 1) {
    const bool to_infinity = round_up(rounding, negative_, true, true, true);
    return sign | (to_infinity ? format.infinity() : format.infinity() - 1);
  }
  return sign | static_cast<uint64_t>(biased) << format.mantissa_bits | (mantissa - implicit);
}

std::optional<__int128> Exact::to_integer(Rounding rounding) const {
  const int index = -kUnitExponent;
  if (top_bit() - index >= 126) return std::nullopt;
  auto integer = static_cast<__int128>(bits_from(index));
  if (round_up(rounding, negative_, (integer & 1) != 0, bit(index - 1), any_below(index - 1))) {
    ++integer;
  }
  return negative_ ? -integer : integer;
}

}  // namespace doppel::oracle
