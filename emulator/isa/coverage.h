// Coverage: how often each instruction row was executed, per family: what `--isa-coverage`
// reports. An instruction that faults does not count; a VOPD counts as both of its rows.
//
// Given to dispatchers by DispatcherOptions::coverage; it outlives them. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/target.h"
#include "emulator/isa/row.h"

namespace doppel::isa {

class Coverage {
 public:
  /// Adds counts by row index, one for each of all_rows().
  void add(GfxFamily family, std::span<const uint64_t> executed);

  uint64_t executed(GfxFamily family, const Row& row) const;

  /// Of each family that executed anything: its rows by table with their counts, then those that
  /// were not executed.
  std::string to_text() const;
  /// {"gfx11": {"rows": n, "executed": {name: count}, "not_executed": [name]}}; names carry their
  /// table ("VOP2 v_add_f32").
  std::string to_json() const;
  /// to_json() where the name ends with .json, else to_text(); "-" is standard output.
  Result<> write(const std::filesystem::path& path) const;

 private:
  static constexpr size_t kFamilies = 3;  // those that rows have opcodes for
  mutable std::mutex mutex_;
  std::array<std::vector<uint64_t>, kFamilies> counts_;
};

}  // namespace doppel::isa
