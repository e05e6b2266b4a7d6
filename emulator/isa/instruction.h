// Instruction: a decoded instruction word, still in the architecture's terms: its row, encoding and
// raw fields. What the disassembler prints and lower.h turns into an executable Inst.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/target.h"
#include "emulator/isa/encoding.h"
#include "emulator/isa/row.h"

namespace doppel::isa {

inline constexpr size_t kMaxInstructionWords = 3;

struct Instruction {
  const Row* row = nullptr;
  const Row* row_y = nullptr;  // VOPD's second operation
  const Encoding* encoding = nullptr;
  GfxFamily family = GfxFamily::Gfx11;
  uint8_t dwords = 0;
  Modifier modifier = Modifier::None;
  bool has_literal = false;
  std::array<uint32_t, kMaxInstructionWords> words{};

  Format format() const { return encoding->format; }
  /// The 64-bit form of a VOP1, VOP2 or VOPC row.
  bool wide() const { return format() == Format::VOP3 || format() == Format::VOP3SD; }
  uint32_t field(Field name) const { return (*encoding)[name].extract(words); }
  /// The dword behind the instruction proper: literal or modifier.
  uint32_t extra_word() const { return words[dwords - 1]; }
  uint32_t literal() const { return has_literal ? extra_word() : 0; }
  uint32_t modifier_field(Field name) const {
    const uint32_t word = extra_word();
    return modifier_encoding(modifier)[name].extract({&word, 1});
  }
  bool fetch_inactive() const;
};

/// Decodes the instruction that begins at `words` (as many as there are; 3 suffice). nullopt if it
/// is not an instruction of `family`, or is cut off.
std::optional<Instruction> decode(GfxFamily family, std::span<const uint32_t> words);

}  // namespace doppel::isa
