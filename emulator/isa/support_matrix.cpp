#include "emulator/isa/support_matrix.h"

#include <array>

#include <fmt/format.h>

#include "emulator/isa/row.h"

namespace doppel::isa {
namespace {

constexpr std::array kFamilies = {GfxFamily::Gfx10_3, GfxFamily::Gfx11, GfxFamily::Gfx11_5};

std::string opcode_text(const Row& row, GfxFamily family) {
  const int16_t opcode = row.opcode_in(family);
  return opcode == kAbsent ? "-" : fmt::format("0x{:02x}", opcode);
}

std::string name_text(const Row& row) {
  if (row.name == row.gfx10_name) return fmt::format("`{}`", row.name);
  return fmt::format("`{}` (gfx10.3 `{}`)", row.name, row.gfx10_name);
}

/// Rows that only decode, and why that is enough for compute.
std::string not_executed() {
  std::string text =
      "\n## Not executed\n\n"
      "Global wave sync and ordered counts (their memory belongs to the driver), ray traversal's "
      "stack,\nthe inputs and ends of pixel shaders, and halting behind a message: executing one "
      "is a fault\nthat names it.\n\n";
  for (const Row& row : all_rows()) {
    if (row.fidelity == Fidelity::None) text += fmt::format("- {}\n", name_text(row));
  }
  return text;
}

}  // namespace

std::string support_matrix() {
  std::string text =
      "# Instruction support\n\n"
      "Generated from the rows of `emulator/isa/tables`. An opcode says that the family has the\n"
      "instruction; *hardware*: a case validated on hardware passes; *specification*: follows the\n"
      "ISA manual; *approximate*: hardware's result is not specified to the bit; *none*: decodes\n"
      "and disassembles, and faults when executed.\n";
  Format table = Format::VOP3SD;
  for (const Row& row : all_rows()) {
    if (row.format != table) {
      table = row.format;
      text += fmt::format(
          "\n## {}\n\n| instruction | gfx10.3 | gfx11 | gfx11.5 | fidelity |\n"
          "|---|---|---|---|---|\n",
          to_string(table));
    }
    text += fmt::format("| {} |", name_text(row));
    for (GfxFamily family : kFamilies) text += fmt::format(" {} |", opcode_text(row, family));
    text += fmt::format(" {} |\n", to_string(row.fidelity));
  }
  return text + not_executed();
}

}  // namespace doppel::isa
