#include "emulator/profile/summary.h"

#include <algorithm>
#include <functional>
#include <map>

namespace doppel::profile {

std::string_view to_string(emu::AccessMode mode) {
  switch (mode) {
    case emu::AccessMode::Read:
      return "vector read";
    case emu::AccessMode::ScalarRead:
      return "scalar read";
    case emu::AccessMode::Write:
      return "write";
    case emu::AccessMode::Atomic:
      return "atomic";
  }
  return "?";
}

std::vector<std::pair<std::string_view, uint64_t>> mix_of(const KernelProfile& profile) {
  std::map<std::string_view, uint64_t> counts;
  for (const auto& [pc, site] : profile.sites()) counts[site.mnemonic] += site.executions;
  std::vector<std::pair<std::string_view, uint64_t>> mix(counts.begin(), counts.end());
  std::ranges::stable_sort(mix, std::greater{}, [](const auto& entry) { return entry.second; });
  return mix;
}

double Lanes::percent() const {
  return all == 0 ? 0 : 100.0 * static_cast<double>(active) / static_cast<double>(all);
}

Lanes lanes_of(const KernelProfile& profile) {
  Lanes lanes;
  for (const auto& [pc, site] : profile.sites()) {
    if (site.all_lanes == 0) continue;
    lanes.executions += site.executions;
    lanes.active += site.active_lanes;
    lanes.all += site.all_lanes;
    lanes.partial += site.partial;
    lanes.idle += site.idle;
  }
  return lanes;
}

Banks banks_of(const KernelProfile& profile) {
  Banks banks;
  for (const auto& [pc, site] : profile.sites()) {
    if (site.unit != Unit::Lds) continue;
    banks.accesses += site.executions;
    banks.needed += site.bank_needed;
    banks.conflict += site.bank_conflict;
  }
  return banks;
}

}  // namespace doppel::profile
