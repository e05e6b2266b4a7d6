#include "emulator/isa/disassembler.h"

#include <fmt/format.h>

namespace doppel::isa {

std::string disassemble(const Instruction& instruction) {
  std::string text(instruction.row->name_in(instruction.family));
  for (uint32_t i = 0; i < instruction.dwords; ++i) {
    text += fmt::format(" {:#010x}", instruction.words[i]);
  }
  return text;
}

std::string disassemble_or_dwords(GfxFamily family, std::span<const uint32_t> words) {
  if (const auto instruction = decode(family, words)) return disassemble(*instruction);
  std::string text;
  for (uint32_t word : words)
    text += fmt::format("{}.long {:#010x}", text.empty() ? "" : " ", word);
  return text;
}

}  // namespace doppel::isa
