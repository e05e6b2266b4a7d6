#include "emulator/profile/lds_banks.h"

#include <algorithm>
#include <array>

namespace doppel::profile {
namespace {

/// Dwords that a lane accesses at each of its addresses.
uint32_t element_dwords(const isa::Row& row, bool two_addresses) {
  const uint32_t loaded = isa::registers_of(row.dst);
  const uint32_t stored = isa::registers_of(row.src[0]);
  if (loaded == 0) return std::max(stored, 1u);
  return std::max(two_addresses ? loaded / 2 : loaded, 1u);
}

/// The byte offsets that the instruction adds to a lane's address.
std::vector<uint32_t> offsets(const isa::Inst& inst, const isa::Row& row, uint32_t dwords) {
  if (row.name.find("_2addr") == std::string_view::npos) return {inst.literal & 0xffff};
  const uint32_t stride = row.name.find("_stride64") == std::string_view::npos ? 1 : 64;
  const uint32_t unit = dwords * 4 * stride;
  return {(inst.literal & 0xff) * unit, (inst.literal >> 8 & 0xff) * unit};
}

/// Exchanges between lanes go through the LDS's crossbar, not through its memory.
bool only_exchanges(const isa::Row& row) {
  return row.name.find("swizzle") != std::string_view::npos ||
         row.name.find("permute") != std::string_view::npos;
}

}  // namespace

BankCycles bank_cycles(std::vector<uint32_t> addresses) {
  for (uint32_t& address : addresses) address /= 4;
  std::ranges::sort(addresses);
  const auto twins = std::ranges::unique(addresses);
  addresses.erase(twins.begin(), twins.end());
  std::array<uint32_t, kLdsBanks> load{};
  for (const uint32_t dword : addresses) ++load[dword % kLdsBanks];
  const auto dwords = static_cast<uint32_t>(addresses.size());
  const uint32_t needed = (dwords + kLdsBanks - 1) / kLdsBanks;
  return {.needed = needed, .conflict = std::ranges::max(load) - needed};
}

BankCycles bank_cycles(const emu::Wave& wave, const isa::Inst& inst, const isa::Row& row) {
  BankCycles sum;
  if (row.has(isa::NoAddr) || only_exchanges(row)) return sum;
  const bool two = row.name.find("_2addr") != std::string_view::npos;
  const uint32_t dwords = element_dwords(row, two);
  const auto added = offsets(inst, row, dwords);
  for (uint32_t half = 0; half < wave.lanes / emu::kHalfLanes; ++half) {
    const emu::LaneRegister& base = wave.vgprs[half * emu::kVgprSlots + inst.address];
    const uint32_t exec = wave.s[isa::kExecLo + half];
    std::vector<uint32_t> addresses;
    for (uint32_t lane = 0; lane < emu::kHalfLanes; ++lane) {
      if ((exec >> lane & 1) == 0) continue;
      for (const uint32_t offset : added) {
        for (uint32_t i = 0; i < dwords; ++i) {
          addresses.push_back(base.lane[lane] + offset + i * 4);
        }
      }
    }
    if (addresses.empty()) continue;
    const BankCycles cycles = bank_cycles(std::move(addresses));
    sum.needed += cycles.needed;
    sum.conflict += cycles.conflict;
  }
  return sum;
}

}  // namespace doppel::profile
