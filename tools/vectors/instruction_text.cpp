#include "tools/vectors/instruction_text.h"

#include <cstring>
#include <vector>

#include "emulator/isa/disassembler.h"

namespace doppel::vectors {

std::string instruction_text(const IsaCase& isa_case, const Target* target) {
  if (target == nullptr) return {};
  std::vector<uint32_t> words(isa_case.body().size() / 4);
  if (!words.empty()) std::memcpy(words.data(), isa_case.body().data(), 4 * words.size());
  std::string text;
  for (std::span<const uint32_t> rest = words; !rest.empty();) {
    const auto instruction = isa::decode(target->family, rest);
    if (!text.empty()) text += "; ";
    text += isa::disassemble_or_dwords(target->family, rest);
    rest = rest.subspan(instruction ? instruction->dwords : 1);
  }
  return text;
}

}  // namespace doppel::vectors
