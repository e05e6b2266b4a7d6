// Row: one instruction. Decoder, disassembler, interpreter and support matrix all expand the rows
// of tables/*.inc; nothing about an instruction is said anywhere else.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/target.h"
#include "emulator/isa/encoding.h"
#include "emulator/isa/operand.h"

namespace doppel::isa {

/// How sure we are of the semantics.
enum class Fidelity : uint8_t {
  Hardware,     // cases validated on hardware pass
  Spec,         // follows the ISA manual; no hardware case
  Approximate,  // hardware's result is not specified to the bit; ours is within the stated ulp
  None,         // decodes and disassembles; executing it faults
};
std::string_view to_string(Fidelity fidelity);

enum RowFlags : uint16_t {
  Plain = 0,
  CarryOut = 1,  // writes a lane mask: VCC in the 32-bit encoding, SDST in VOP3SD
  CarryIn = 2,   // reads a lane mask as its last source: VCC in the 32-bit encoding
  NoE64 = 4,     // VOP1/VOP2/VOPC without a VOP3 form
  NoE32 = 8,     // VOP1/VOP2 opcode that exists in the VOP3 form only
  Acc = 16,      // the destination is also the last source (FMAC, DOT2ACC)
  KMul = 32,     // a literal is the second factor (FMAMK)
  KAdd = 64,     // a literal is the addend (FMAAK)
  NoDpp = 128,
  NoSdwa = 256,
  ReadsDst = 512,        // reads the destination otherwise (SWAP, BITSET, CMOV, MOVREL)
  NoAddr = 1024,         // memory: takes no address VGPR
  AlwaysReturns = 2048,  // an atomic that returns whatever GLC says
};

inline constexpr int16_t kAbsent = -1;

struct Row {
  std::string_view name;
  std::string_view gfx10_name;      // where gfx10.3 spells it differently; else equal to name
  std::array<int16_t, 3> opcode{};  // gfx10.3, gfx11, gfx11.5; kAbsent where it does not exist
  uint16_t flags = 0;
  Format format = Format::SOP1;
  OperandType dst = OperandType::None;
  std::array<OperandType, 3> src{};
  Fidelity fidelity = Fidelity::None;

  std::string_view name_in(GfxFamily family) const {
    return family == GfxFamily::Gfx10_3 ? gfx10_name : name;
  }
  int16_t opcode_in(GfxFamily family) const;
  bool has(RowFlags flag) const { return (flags & flag) != 0; }
  uint32_t sources() const;
};

/// All rows, grouped by table; Inst::row and handler tables index them.
std::span<const Row> all_rows();
std::span<const Row> rows_of(Format table);
uint32_t index_of(const Row& row);

/// The row of `opcode` in an encoding of `family`. `format` VOP3 and VOP3SD also find VOP1, VOP2
/// and VOPC rows at their VOP3 opcodes. nullptr if there is none.
const Row* find_row(GfxFamily family, Format format, uint32_t opcode);

const Row* find_row(std::string_view name);

}  // namespace doppel::isa
