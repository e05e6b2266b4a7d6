// Comparison: what two trials of one workload agree in, and where they differ.
#pragma once

#include <string>
#include <vector>

#include "tools/compare/trial.h"

namespace doppel::compare {

struct Comparison {
  /// One thing that was compared.
  struct Row {
    std::string kind;  // "memory", "signal", "stream"
    std::string name;
    bool equal = true;
    bool compared = true;  // false: it means nothing here, and `detail` says why
    std::string detail;    // what differs, or how much is equal
  };
  std::vector<Row> rows;

  bool equal() const;
};

Comparison compare(const Trial& left, const Trial& right);

/// Side by side, timings included.
std::string to_text(const Comparison& comparison, const Trial& left, const Trial& right);
std::string to_json(const Comparison& comparison, const Trial& left, const Trial& right);

}  // namespace doppel::compare
