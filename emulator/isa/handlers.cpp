#include "emulator/isa/handlers.h"

#include <atomic>

#include "core/assert.h"

namespace doppel::isa {

#define DOPPEL_DECLARE_LEVEL(level) \
  namespace level {                 \
  const HandlerTable& handlers();   \
  }
#ifdef DOPPEL_ISA_HAS_v2
DOPPEL_DECLARE_LEVEL(v2)
#endif
#ifdef DOPPEL_ISA_HAS_v3
DOPPEL_DECLARE_LEVEL(v3)
#endif
#ifdef DOPPEL_ISA_HAS_v4
DOPPEL_DECLARE_LEVEL(v4)
#endif
#undef DOPPEL_DECLARE_LEVEL

namespace {

constexpr int kNone = -1;
std::atomic<int> chosen_level{kNone};

/// The level's table, if this build has it and this CPU runs it.
const HandlerTable* table_of(Level level) {
  switch (level) {
    case Level::V2:
#ifdef DOPPEL_ISA_HAS_v2
      if (__builtin_cpu_supports("x86-64-v2")) return &v2::handlers();
#endif
      break;
    case Level::V3:
#ifdef DOPPEL_ISA_HAS_v3
      if (__builtin_cpu_supports("x86-64-v3")) return &v3::handlers();
#endif
      break;
    case Level::V4:
#ifdef DOPPEL_ISA_HAS_v4
      if (__builtin_cpu_supports("x86-64-v4")) return &v4::handlers();
#endif
      break;
  }
  return nullptr;
}

/// v3 before v4: see docs/performance.md.
constexpr std::array kPreference = {Level::V3, Level::V4, Level::V2};

}  // namespace

std::string_view to_string(Level level) {
  constexpr std::array<std::string_view, 3> kNames = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  return kNames[static_cast<size_t>(level)];
}

const HandlerTable& handler_table(Level level) {
  const HandlerTable* table = table_of(level);
  DOPPEL_ASSERT(table != nullptr, "the level is built and runs on this CPU");
  return *table;
}

Level best_level() {
  const int chosen = chosen_level.load(std::memory_order_relaxed);
  if (chosen != kNone && table_of(static_cast<Level>(chosen)) != nullptr) {
    return static_cast<Level>(chosen);
  }
  for (Level level : kPreference) {
    if (table_of(level) != nullptr) return level;
  }
  DOPPEL_ASSERT(false, "this CPU runs none of the levels that were built");
  return Level::V2;
}

bool has_level(Level level) {
  return table_of(level) != nullptr;
}

void choose_level(std::optional<Level> level) {
  chosen_level.store(level ? static_cast<int>(*level) : kNone, std::memory_order_relaxed);
}

}  // namespace doppel::isa
