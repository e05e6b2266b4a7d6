#include "emulator/isa/handlers.h"

#include <atomic>

namespace doppel::isa {

namespace v2 {
const HandlerTable& handlers();
}
namespace v3 {
const HandlerTable& handlers();
}
namespace v4 {
const HandlerTable& handlers();
}

namespace {

constexpr int kNoLimit = -1;
std::atomic<int> level_limit{kNoLimit};

/// x86-64-v4 runs no faster than v3 here (docs/performance.md), so it is only used when asked for.
Level detect() {
  if (__builtin_cpu_supports("x86-64-v3")) return Level::V3;
  return Level::V2;
}

}  // namespace

std::string_view to_string(Level level) {
  constexpr std::array<std::string_view, 3> kNames = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  return kNames[static_cast<size_t>(level)];
}

const HandlerTable& handler_table(Level level) {
  switch (level) {
    case Level::V4:
      return v4::handlers();
    case Level::V3:
      return v3::handlers();
    case Level::V2:
      break;
  }
  return v2::handlers();
}

Level best_level() {
  static const Level detected = detect();
  const int limit = level_limit.load(std::memory_order_relaxed);
  if (limit == static_cast<int>(Level::V4) && __builtin_cpu_supports("x86-64-v4")) return Level::V4;
  return limit != kNoLimit && limit < static_cast<int>(detected) ? static_cast<Level>(limit)
                                                                 : detected;
}

void limit_level(std::optional<Level> limit) {
  level_limit.store(limit ? static_cast<int>(*limit) : kNoLimit, std::memory_order_relaxed);
}

}  // namespace doppel::isa
