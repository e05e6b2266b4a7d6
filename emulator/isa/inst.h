// Inst: one decoded instruction in the form the interpreter runs: a handler and resolved operands.
// Made once per code address (code_cache.h), immutable while waves run, shared by all of them.
//
// A handler executes the instruction for its wave and returns the next Inst, or nullptr when the
// wave stops (Wave::stop says why and where to resume).
#pragma once

#include <array>
#include <cstdint>

#include "emulator/isa/operand.h"

namespace doppel::emu {
struct Wave;
}

namespace doppel::isa {

struct Inst;
using Handler = const Inst* (*)(emu::Wave&, const Inst*);

/// What a source's byte offset counts from: nothing (a constant of the code cache), the Wave (a
/// scalar register, or a staged source), the vector registers of the wave half that executes.
enum class Base : uint8_t { Absolute, Wave, Vgpr };

/// How a vector source is prepared before the handler's body reads it. Raw sources need nothing:
/// the body reads the register or the pre-broadcast constant in place.
enum class Stage : uint8_t { Raw, Broadcast, Lanes };

inline constexpr uint8_t kSdwaDword = 6;

struct SourceStage {
  Stage how = Stage::Raw;
  uint8_t registers = 1;
  uint8_t low_half = 0;     // which half of the register becomes the low half ...
  uint8_t high_half = 1;    // ... and the high half of the staged value
  uint32_t and_mask = ~0u;  // abs and neg, on the last register
  uint32_t xor_mask = 0;
  int64_t offset = 0;  // where the value comes from
  Base base = Base::Absolute;
  uint8_t sdwa_select = kSdwaDword;  // 0-3 byte, 4-5 word
  bool sdwa_sign_extend = false;
  bool half_to_float = false;  // V_FMA_MIX

  bool changes_value() const {
    return low_half != 0 || high_half != 1 || and_mask != ~0u || xor_mask != 0 ||
           sdwa_select != kSdwaDword || half_to_float;
  }
};

/// What happens to a float result before it is written.
struct OutputModifiers {
  uint8_t omod = 0;  // 1: x2, 2: x4, 3: /2
  bool clamp = false;
  bool high_half = false;  // OP_SEL: a 16-bit result goes to the register's high half
  constexpr bool scales() const { return omod != 0 || clamp; }
};

/// Everything that few instructions need, kept out of the line the interpreter touches.
struct InstExtra {
  std::array<SourceStage, 3> stages{};
  uint8_t neg = 0, neg_hi = 0, op_sel = 0, op_sel_hi = 0;
  uint32_t modifier = 0;  // the DPP dword
  bool dpp8 = false;
  bool fetch_inactive = false;
  bool dpp_bound_control = false;
  uint16_t dpp_control = 0;
  uint8_t dpp_row_mask = 15, dpp_bank_mask = 15;
  uint8_t sdwa_destination = kSdwaDword;
  uint8_t sdwa_unused = 0;      // 0 zeros, 1 sign extension, 2 as it was
  const Inst* first = nullptr;  // VOPD: what runs first
  const Inst* pair = nullptr;   // and then
  uint16_t second_row = 0;      // the row of the encoding's second operation
};

struct alignas(64) Inst {
  Handler handler = nullptr;  // what the interpreter calls
  Handler body = nullptr;     // the row's semantics, where handler is a wrapper around it
  std::array<int64_t, 3> source{};
  std::array<Base, 3> base{};
  uint8_t dwords = 1;
  OutputModifiers out;
  uint16_t row = 0;      // index into all_rows()
  uint32_t vdst = 0;     // byte offset of the destination in the vector registers of a half
  uint16_t sdst = 128;   // index of the first destination SGPR (kSinkSlot where NULL or none)
  uint16_t smask = 106;  // index of the SGPR that holds a lane mask source (carry in, select)
  uint32_t literal = 0;  // a literal, SIMM16 (sign-extended), or a memory offset
  const Inst* target = nullptr;  // a direct branch's destination
  const InstExtra* extra = nullptr;
  uint64_t pc = 0;       // GPU address
  uint32_t site = 0;     // index of this access site's TLB entry
  uint16_t address = 0;  // memory: first VGPR of the address
  uint16_t data = 0;     // first VGPR of the data; second data register in data1
  uint16_t data1 = 0;
  uint16_t saddr = kNull;    // scalar base (SGPR index, or kNull), SMEM's SBASE, buffer's SRSRC
  uint16_t soffset = kNull;  // operand code of the scalar offset
  uint16_t flags = 0;        // see MemoryFlags
  bool destination_is_source = false;  // a source register is also the destination
  bool is_branch = false;              // direct: literal is the distance in dwords

  uint64_t next_pc() const { return pc + uint64_t{dwords} * 4; }
};

enum MemoryFlags : uint16_t {
  kGlc = 1,
  kTfe = 8,
  kIdxen = 16,
  kOffen = 32,
  kLds = 64,
  kGds = 128,
  kVaddr = 256,  // SCRATCH: the VGPR address is used
};

}  // namespace doppel::isa
