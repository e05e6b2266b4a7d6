// Typed buffer accesses: MUBUF's FORMAT instructions take the format from the resource, MTBUF's
// from the instruction. kComponents registers, or half registers where D16 packs two 16-bit values.
#pragma once

#include <algorithm>

#include "emulator/isa/semantics/buffer_memory.h"

DOPPEL_BEGIN_LEVEL

enum class TypedData : uint8_t { Dwords, D16, D16High };

/// A component as D16 accesses hold it: f16, or the integer's low half.
inline uint32_t to_d16(const BufferFormat& format, uint32_t value) {
  return format.is_integer() ? value & 0xffff : to_half_bits(std::bit_cast<float>(value));
}
inline uint32_t from_d16(const BufferFormat& format, uint32_t half) {
  if (format.numeric == NumericFormat::Sint) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(half)));
  }
  return format.is_integer() ? half : std::bit_cast<uint32_t>(from_half_bits(half & 0xffff));
}

/// A component the element doesn't have: 0, 0, 0 and 1.
inline uint32_t default_component(const BufferFormat& format, bool one) {
  if (!one) return 0;
  return format.is_integer() ? 1 : std::bit_cast<uint32_t>(1.0f);
}

inline constexpr uint32_t kSelectX = 4;  // DST_SEL: 0 and 1 are constants, 4 to 7 are x to w

/// The value DST_SEL asks for: a constant or a component of the element.
inline uint32_t selected_component(const BufferFormat& format, std::span<const std::byte> element,
                                   uint32_t select) {
  if (select < kSelectX) return default_component(format, select == 1);
  const uint32_t index = select - kSelectX;
  if (index >= format.components()) return default_component(format, index == 3);
  return format.unpack(element, index);
}

template <bool kFromInstruction>
const BufferFormat* format_of(Wave& wave, const Inst* inst, const BufferLanes& lanes) {
  const uint32_t number = kFromInstruction ? inst->data1 : lanes.resource().format;
  const BufferFormat* format = find_buffer_format(wave.target->family, number);
  if (format == nullptr) raise_bad_format(wave, inst, number);
  return format;
}

/// Reads or writes a lane's element in dword pieces, as swizzling may scatter it.
template <class Access>
bool for_each_piece(uint32_t bytes, Access access) {
  for (uint32_t at = 0; at < bytes; at += 4) {
    if (!access(at, std::min(4u, bytes - at))) return false;
  }
  return true;
}

template <uint32_t kComponents, TypedData kData, bool kFromInstruction>
struct typed_load {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const BufferLanes lanes(wave, *inst);
    const BufferFormat* format = format_of<kFromInstruction>(wave, inst, lanes);
    if (format == nullptr) return nullptr;
    uint32_t* destination = wave.destination(*inst);
    const bool done = for_each_lane(wave.exec_half(), [&](uint32_t lane) {
      std::array<uint32_t, 4> values{};
      if (!load_values(wave, inst, lanes, *format, lane, values)) return false;
      write_values(*format, values, destination, lane);
      return true;
    });
    return done ? inst + 1 : nullptr;
  }

 private:
  static bool load_values(Wave& wave, const Inst* inst, const BufferLanes& lanes,
                          const BufferFormat& format, uint32_t lane,
                          std::array<uint32_t, 4>& values) {
    const uint32_t bytes = format.bytes();
    if (lanes.out_of_range(lane, 0, bytes)) return true;
    std::array<std::byte, 16> element{};
    const bool read = for_each_piece(bytes, [&](uint32_t at, uint32_t size) {
      return read_memory(wave, inst, wave_lane(wave, lane), lanes.address(lane, at),
                         {element.data() + at, size});
    });
    if (!read) return false;
    for (uint32_t i = 0; i < kComponents; ++i) {
      // MTBUF ignores DST_SEL.
      const uint32_t select = kFromInstruction ? kSelectX + i : lanes.resource().select[i];
      values[i] = selected_component(format, std::span(element).first(bytes), select);
    }
    return true;
  }

  static void write_values(const BufferFormat& format, const std::array<uint32_t, 4>& values,
                           uint32_t* destination, uint32_t lane) {
    for (uint32_t i = 0; i < kComponents; ++i) {
      if constexpr (kData == TypedData::Dwords) {
        destination[i * kLanes + lane] = values[i];
      } else {
        uint32_t& to = destination[i / 2 * kLanes + lane];
        const bool high = kData == TypedData::D16High || i % 2 == 1;
        const uint32_t half = to_d16(format, values[i]);
        to = high ? merge_half<Half::High>(to, half) : merge_half<Half::Low>(to, half);
      }
    }
  }
};

template <uint32_t kComponents, TypedData kData, bool kFromInstruction>
struct typed_store {
  static constexpr Scope scope = Scope::Lanes;
  static constexpr bool implemented = true;
  template <OperandType D, OperandType A, OperandType B, OperandType C>
  static const Inst* run(Wave& wave, const Inst* inst) {
    const BufferLanes lanes(wave, *inst);
    const BufferFormat* format = format_of<kFromInstruction>(wave, inst, lanes);
    if (format == nullptr) return nullptr;
    const uint32_t* data = wave.vgpr(inst->data);
    const bool done = for_each_lane(wave.exec_half(), [&](uint32_t lane) {
      const uint32_t bytes = format->bytes();
      if (lanes.out_of_range(lane, 0, bytes)) return true;
      std::array<std::byte, 16> element{};
      const uint32_t components = std::min(kComponents, format->components());
      for (uint32_t i = 0; i < components; ++i) {
        format->pack(std::span(element).first(bytes), i, read_value(*format, data, lane, i));
      }
      return for_each_piece(bytes, [&](uint32_t at, uint32_t size) {
        return write_memory(wave, inst, wave_lane(wave, lane), lanes.address(lane, at),
                            {element.data() + at, size});
      });
    });
    return done ? inst + 1 : nullptr;
  }

 private:
  static uint32_t read_value(const BufferFormat& format, const uint32_t* data, uint32_t lane,
                             uint32_t i) {
    if constexpr (kData == TypedData::Dwords) return data[i * kLanes + lane];
    const uint32_t both = data[i / 2 * kLanes + lane];
    const bool high = kData == TypedData::D16High || i % 2 == 1;
    return from_d16(format, high ? both >> 16 : both & 0xffff);
  }
};

// The names that the tables use; MTBUF's begin with t.
template <uint32_t kComponents>
struct load_format : typed_load<kComponents, TypedData::Dwords, false> {};
template <uint32_t kComponents>
struct load_format_d16 : typed_load<kComponents, TypedData::D16, false> {};
template <uint32_t kComponents>
struct store_format : typed_store<kComponents, TypedData::Dwords, false> {};
template <uint32_t kComponents>
struct store_format_d16 : typed_store<kComponents, TypedData::D16, false> {};
struct load_format_d16_high : typed_load<1, TypedData::D16High, false> {};
struct store_format_d16_high : typed_store<1, TypedData::D16High, false> {};
template <uint32_t kComponents>
struct tload_format : typed_load<kComponents, TypedData::Dwords, true> {};
template <uint32_t kComponents>
struct tload_format_d16 : typed_load<kComponents, TypedData::D16, true> {};
template <uint32_t kComponents>
struct tstore_format : typed_store<kComponents, TypedData::Dwords, true> {};
template <uint32_t kComponents>
struct tstore_format_d16 : typed_store<kComponents, TypedData::D16, true> {};

DOPPEL_END_LEVEL
