// SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF.
#include <fmt/format.h>

#include "emulator/isa/buffer_format.h"
#include "emulator/isa/text.h"

namespace doppel::isa {
namespace {

constexpr uint32_t kInvalidScalar = 0x7f;  // gfx10.3's "off" besides NULL

uint32_t null_code(const Text& text) {
  return text.gfx10() ? 125 : 124;
}

int32_t sign_extended(const Text& text, Field field) {
  const uint32_t unused = 32u - (*text.instruction().encoding)[field].width;
  return static_cast<int32_t>(text.field(field) << unused) >> unused;
}

bool has_suffix(const Text& text, std::string_view part) {
  return text.instruction().row->name.find(part) != std::string_view::npos;
}

void print_cache_policy(Text& text) {
  text.flag("glc", text.field(Field::Glc) != 0);
  text.flag("slc", text.field(Field::Slc) != 0);
  text.flag("dlc", text.field(Field::Dlc) != 0);
}

bool is_atomic(const Text& text) {
  return has_suffix(text, "_atomic_");
}
bool returns(const Text& text) {
  return text.field(Field::Glc) != 0;
}

// ------------------------------------------------------------------ SMEM

void print_smem_offset(Text& text) {
  const uint32_t soffset = text.field(Field::Soffset);
  const int32_t offset = sign_extended(text, Field::Offset);
  const bool has_register = soffset != null_code(text);
  if (has_register) text.sgpr(soffset, 1);
  if (!has_register) {
    text.begin_operand();
    text.raw(fmt::format("{}0x{:x}", offset < 0 ? "-" : "", std::abs(offset)));
  } else if (offset != 0) {
    text.raw(fmt::format(" offset:{}0x{:x}", offset < 0 ? "-" : "", std::abs(offset)));
  }
}

// ------------------------------------------------------------------ DS

void print_ds_offset(Text& text) {
  const uint32_t first = text.field(Field::Offset);
  const uint32_t second = text.field(Field::Offset1);
  if (has_suffix(text, "2addr")) {
    if (first != 0) text.raw(fmt::format(" offset0:{}", first));
    if (second != 0) text.raw(fmt::format(" offset1:{}", second));
  } else if ((first | second) != 0) {
    text.raw(fmt::format(" offset:{}", first | second << 8));
  }
}

/// Which of its address and data fields a DS instruction has.
struct DsOperands {
  bool address = true;
  bool data = false;
  bool data1 = false;
};

DsOperands ds_operands(const Text& text) {
  const Row& row = *text.instruction().row;
  DsOperands operands{.data = row.src[0] != OperandType::None,
                      .data1 = row.src[1] != OperandType::None};
  operands.address = !row.has(NoAddr);
  return operands;
}

void print_ds(Text& text) {
  const Row& row = *text.instruction().row;
  const DsOperands has = ds_operands(text);
  if (row.dst != OperandType::None) {
    text.vgpr(text.field(Field::Dst), registers_of(row.dst));
  } else {
    text.require(text.field(Field::Dst) == 0);
  }
  if (has.address) {
    text.vgpr(text.field(Field::Addr), 1);
  } else if (!(has_suffix(text, "gws") && has.data)) {
    text.require(text.field(Field::Addr) == 0);
  }
  if (has.data) {
    // The semaphore instructions take their value where others have the address.
    const Field field = has_suffix(text, "gws") ? Field::Addr : Field::Data;
    text.vgpr(text.field(field), registers_of(row.src[0]));
  }
  if (!has.data || has_suffix(text, "gws")) text.require(text.field(Field::Data) == 0);
  if (has.data1) {
    text.vgpr(text.field(Field::Data1), registers_of(row.src[1]));
  } else {
    text.require(text.field(Field::Data1) == 0);
  }
  print_ds_offset(text);
  text.flag("gds", text.field(Field::Gds) != 0);
  const bool permutes = text.gfx10() && has_suffix(text, "permute");
  text.require(text.field(Field::Gds) == 0 || (!has_suffix(text, "bvh") && !permutes));
}

// ------------------------------------------------------------------ FLAT

void print_flat_offset(Text& text) {
  const int32_t offset = sign_extended(text, Field::Offset);
  if (text.instruction().format() == Format::FLAT) text.require(offset >= 0);
  if (offset != 0) text.raw(fmt::format(" offset:{}", offset));
}

bool has_scalar_base(const Text& text) {
  const uint32_t saddr = text.field(Field::Saddr);
  const bool is_scratch = text.instruction().format() == Format::SCRATCH;
  return saddr != null_code(text) && !(text.gfx10() && is_scratch && saddr == kInvalidScalar);
}

/// gfx10.3: narrow and dword loads may go to LDS.
bool may_load_to_lds(const Text& text) {
  const Row& row = *text.instruction().row;
  const bool plain_load = row.dst != OperandType::None && row.src[0] == OperandType::None &&
                          registers_of(row.dst) == 1 && !row.has(ReadsDst);
  return text.gfx10() && plain_load && !has_suffix(text, "d16") && !row.has(NoAddr);
}

void print_off_or_sgpr(Text& text, uint32_t registers) {
  if (has_scalar_base(text)) {
    text.sgpr(text.field(Field::Saddr), registers);
  } else {
    text.begin_operand();
    text.raw("off");
  }
}

/// SCRATCH: vector and scalar address are both optional.
bool uses_vector_address(const Text& text) {
  if (!text.gfx10()) return text.field(Field::Sve) != 0;
  return text.field(Field::Saddr) == null_code(text);
}

void print_flat_address(Text& text) {
  switch (text.instruction().format()) {
    case Format::FLAT:
      text.vgpr(text.field(Field::Addr), 2);
      break;
    case Format::GLOBAL:
      text.vgpr(text.field(Field::Addr), has_scalar_base(text) ? 1 : 2);
      break;
    default:
      if (uses_vector_address(text)) {
        text.vgpr(text.field(Field::Addr), 1);
      } else {
        text.begin_operand();
        text.raw("off");
      }
      break;
  }
}

void print_flat_base(Text& text) {
  switch (text.instruction().format()) {
    case Format::FLAT:
      text.require(text.field(Field::Saddr) == null_code(text));
      break;
    case Format::GLOBAL:
      print_off_or_sgpr(text, 2);
      break;
    default:
      print_off_or_sgpr(text, 1);
      break;
  }
}

void print_flat(Text& text) {
  const Row& row = *text.instruction().row;
  const bool to_lds = has_suffix(text, "_lds_") || text.field(Field::Lds) != 0;
  const bool has_result =
      row.dst != OperandType::None && !to_lds && (!is_atomic(text) || returns(text));
  const bool has_data = row.src[0] != OperandType::None;
  text.require(!has_suffix(text, "_lds_"));  // LLVM has none of these
  // Fields of operands that there are not are ignored.
  if (has_result) text.vgpr(text.field(Field::Dst), registers_of(row.dst));
  if (!row.has(NoAddr)) print_flat_address(text);
  if (has_data) text.vgpr(text.field(Field::Data), registers_of(row.src[0]));
  print_flat_base(text);
  print_flat_offset(text);
  print_cache_policy(text);
  text.flag("lds", text.field(Field::Lds) != 0);
  text.require(text.field(Field::Lds) == 0 || may_load_to_lds(text));
  // Bit 23 of the second dword: SVE of SCRATCH on gfx11, else 0.
  const bool has_sve = !text.gfx10() && text.instruction().format() == Format::SCRATCH;
  text.require(has_sve || (text.instruction().words[1] >> 23 & 1) == 0);
}

// ------------------------------------------------------------------ buffers

void print_buffer_address(Text& text) {
  const uint32_t registers =
      (text.field(Field::Idxen) != 0 ? 1 : 0) + (text.field(Field::Offen) != 0 ? 1 : 0);
  if (registers == 0) {
    text.begin_operand();
    text.raw("off");
  } else {
    text.vgpr(text.field(Field::Addr), registers);
  }
}

uint32_t buffer_data_registers(const Text& text) {
  const Row& row = *text.instruction().row;
  const uint32_t registers = registers_of(row.src[0] != OperandType::None ? row.src[0] : row.dst);
  return registers + (text.field(Field::Tfe) != 0 ? 1 : 0);
}

void print_buffer_format(Text& text) {
  if (text.instruction().format() != Format::MTBUF) return;
  const uint32_t number = text.field(Field::BufferFormat);
  const auto name = buffer_format_name(text.instruction().family, number);
  // "1" is what the assembler assumes.
  if (name.empty()) {
    text.raw(fmt::format(" format:{}", number));
  } else if (number != 1) {
    text.raw(fmt::format(" format:[BUF_FMT_{}]", name));
  }
}

void print_buffer(Text& text) {
  const Row& row = *text.instruction().row;
  const bool is_cache_control =
      row.dst == OperandType::None && row.src[0] == OperandType::None && !has_suffix(text, "_lds_");
  if (is_cache_control) {
    // Addresses and data are ignored.
    for (Field used :
         {Field::Glc, Field::Dlc, Field::Idxen, Field::Offen, Field::Tfe, Field::Lds}) {
      text.require(text.field(used) == 0);
    }
    return;
  }
  text.require(text.field(Field::Tfe) == 0 ||
               (!is_atomic(text) && text.instruction().format() == Format::MUBUF));
  const bool to_lds = text.field(Field::Lds) != 0 || has_suffix(text, "_lds_");
  text.require(text.field(Field::Lds) == 0 || may_load_to_lds(text));
  text.require(!text.gfx10() || !is_atomic(text) || text.field(Field::Dlc) == 0);
  if (to_lds) {
    text.require(text.field(Field::Tfe) == 0);
  } else {
    text.vgpr(text.field(Field::Data), buffer_data_registers(text));
  }
  print_buffer_address(text);
  text.sgpr(text.field(Field::Srsrc) * 4, 4);
  text.source(text.field(Field::Soffset), OperandType::B32);
  print_buffer_format(text);
  text.flag("idxen", text.field(Field::Idxen) != 0);
  text.flag("offen", text.field(Field::Offen) != 0);
  if (text.field(Field::Offset) != 0) {
    text.raw(fmt::format(" offset:{}", text.field(Field::Offset)));
  }
  print_cache_policy(text);
  text.flag("tfe", text.field(Field::Tfe) != 0);
  text.flag("lds", text.field(Field::Lds) != 0);
}

}  // namespace

void print_scalar_memory(Text& text) {
  const Instruction& instruction = text.instruction();
  const Row& row = *instruction.row;
  text.mnemonic(row.name_in(instruction.family));
  const bool is_probe = has_suffix(text, "atc_probe");
  const bool no_policy =
      text.gfx10() || (text.field(Field::Glc) == 0 && text.field(Field::Dlc) == 0);
  if (row.dst != OperandType::None) {
    text.sgpr(text.field(Field::Dst), registers_of(row.dst));
  } else if (is_probe) {
    text.decimal_immediate(text.field(Field::Dst));
  }
  const OperandType base = is_probe ? row.src[1] : row.src[0];
  if (base == OperandType::None) {
    // Registers are ignored, cache policies are not.
    text.require(no_policy);
    return;
  }
  text.sgpr(text.field(Field::Sbase) * 2, registers_of(base));
  print_smem_offset(text);
  if (is_probe) {
    text.require(no_policy);
    return;
  }
  text.flag("glc", text.field(Field::Glc) != 0);
  text.flag("dlc", text.field(Field::Dlc) != 0);
}

void print_vector_memory(Text& text) {
  const Instruction& instruction = text.instruction();
  text.mnemonic(instruction.row->name_in(instruction.family));
  switch (instruction.format()) {
    case Format::DS:
      print_ds(text);
      break;
    case Format::MUBUF:
    case Format::MTBUF:
      print_buffer(text);
      break;
    default:
      print_flat(text);
      break;
  }
}

}  // namespace doppel::isa
