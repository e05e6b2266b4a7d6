// HandlerTable: the rows' semantics compiled for one x86-64 level. The same sources are built once
// per level (semantics/, namespaces v2, v3, v4); best_level() picks at run time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "emulator/isa/encoding.h"
#include "emulator/isa/inst.h"

namespace doppel::isa {

enum class Level : uint8_t { V2, V3, V4 };
std::string_view to_string(Level level);

/// How a row's body meets the two halves of a wave64.
enum class Scope : uint8_t {
  Lanes,  // once per half, with Wave::half selected
  Wave,   // once; the body looks at both halves itself
};

struct RowHandler {
  Handler body = nullptr;
  Scope scope = Scope::Wave;
  bool implemented = false;
};

struct HandlerTable {
  std::array<std::span<const RowHandler>, kFormatCount> rows;  // by table, in row order
  // Wrappers around Inst::body.
  Handler prepared32;       // stages sources, then runs the body
  Handler prepared64;       // the same per half of a wave64
  Handler halves;           // raw sources: the body per half of a wave64
  Handler dpp;              // source 0 from other lanes
  Handler sdwa;             // gfx10.3: sub-dword destination
  Handler dual;             // VOPD: Inst, then its pair
  Handler dual_swap;        // VOPD whose halves read each other's destination
  Handler refresh_special;  // VCCZ or EXECZ is a source
};

const HandlerTable& handler_table(Level level);

/// True if the level was built and this CPU runs it.
bool has_level(Level level);

/// The fastest level that was built and this CPU runs; or the one that tests and benchmarks chose.
Level best_level();
void choose_level(std::optional<Level> level);

}  // namespace doppel::isa
