#include "emulator/isa/disassembler.h"

#include <fmt/format.h>

#include "emulator/isa/text.h"

namespace doppel::isa {
namespace {

void print(Text& text) {
  const Instruction& instruction = text.instruction();
  // Memory formats ignore their reserved bits.
  if (instruction.format() == Format::VOP3P || instruction.format() == Format::VINTERP) {
    text.require((instruction.words[0] & instruction.encoding->reserved[0]) == 0 &&
                 (instruction.words[1] & instruction.encoding->reserved[1]) == 0);
  }
  switch (instruction.format()) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPC:
    case Format::SOPK:
    case Format::SOPP:
      print_scalar(text);
      break;
    case Format::SMEM:
      print_scalar_memory(text);
      break;
    case Format::DS:
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH:
    case Format::MUBUF:
    case Format::MTBUF:
      print_vector_memory(text);
      break;
    case Format::VOPD:
      print_dual(text);
      break;
    default:
      print_vector(text);
      break;
  }
}

std::string dwords(std::span<const uint32_t> words) {
  std::string text;
  for (uint32_t word : words) {
    text += fmt::format("{}.long 0x{:08x}", text.empty() ? "" : "; ", word);
  }
  return text;
}

}  // namespace

std::optional<std::string> assembly(const Instruction& instruction, bool wave64) {
  Text text(instruction, wave64);
  print(text);
  if (!text.valid()) return std::nullopt;
  return text.str();
}

std::string disassemble(const Instruction& instruction, bool wave64) {
  if (auto text = assembly(instruction, wave64)) return *std::move(text);
  return dwords(std::span(instruction.words).first(instruction.dwords)) + "  ; " +
         std::string(instruction.row->name_in(instruction.family)) + " with reserved bits";
}

std::string disassemble_or_dwords(GfxFamily family, std::span<const uint32_t> words, bool wave64) {
  if (const auto instruction = decode(family, words)) return disassemble(*instruction, wave64);
  return dwords(words);
}

}  // namespace doppel::isa
