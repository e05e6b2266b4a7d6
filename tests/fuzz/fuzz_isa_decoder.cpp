// Any dwords as instructions of any family: the decoder and the disassembler take them, within
// their bounds.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "core/assert.h"
#include "emulator/isa/disassembler.h"
#include "emulator/isa/instruction.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace doppel;
  if (size < 5) return 0;
  constexpr GfxFamily kFamilies[] = {GfxFamily::Gfx10_3, GfxFamily::Gfx11, GfxFamily::Gfx11_5};
  const GfxFamily family = kFamilies[data[0] % std::size(kFamilies)];
  const bool wave64 = (data[0] & 0x80) != 0;
  std::vector<uint32_t> words((size - 1) / sizeof(uint32_t));
  std::memcpy(words.data(), data + 1, words.size() * sizeof(uint32_t));
  for (std::span<const uint32_t> rest(words); !rest.empty(); rest = rest.subspan(1)) {
    const auto instruction = isa::decode(family, rest);
    DOPPEL_ASSERT(!isa::disassemble_or_dwords(family, rest, wave64).empty(),
                  "words print as nothing");
    if (!instruction) continue;
    DOPPEL_ASSERT(instruction->dwords > 0 && instruction->dwords <= rest.size(),
                  "an instruction reaches beyond its words");
    DOPPEL_ASSERT(instruction->row != nullptr, "an instruction has no row");
    const auto text = isa::assembly(*instruction, wave64);
    DOPPEL_ASSERT(!text || !text->empty(), "an instruction prints as nothing");
    // What follows an instruction is no part of it.
    const auto alone = isa::decode(family, rest.first(instruction->dwords));
    DOPPEL_ASSERT(alone && alone->row == instruction->row,
                  "an instruction depends on its successor");
  }
  return 0;
}
