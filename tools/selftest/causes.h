// Causes: why a step of the selftest fails, as far as experience tells: one row per step and kind
// of failure.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace doppel::selftest {

struct CauseRow {
  std::string_view step;
  int os_error = 0;                               // 0: whatever the errno
  std::optional<StatusCode> code = std::nullopt;  // nullopt: whatever the code
  std::string_view text;
};

std::span<const CauseRow> cause_rows();

/// The likely causes, the most specific ones first. Never empty: a failure that no row knows gets
/// the advice that suits all.
std::vector<std::string_view> likely_causes(std::string_view step, const Status& failure);

}  // namespace doppel::selftest
