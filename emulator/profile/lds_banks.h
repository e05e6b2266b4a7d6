// LDS bank conflicts, by a model: 32 banks of 4 bytes (RDNA and CDNA ISA manuals, "LDS"); lanes
// that touch the same dword share it; a half wave's access takes as many cycles as the busiest bank
// has dwords. What it takes beyond the cycles of a layout without conflicts is counted.
//
// The order in which hardware splits 64- and 128-bit accesses is not modelled: approximate there.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/isa/row.h"
#include "emulator/wave/wave.h"

namespace doppel::profile {

inline constexpr uint32_t kLdsBanks = 32;

struct BankCycles {
  uint32_t needed = 0;    // by a layout without conflicts
  uint32_t conflict = 0;  // beyond that
};

/// Cycles for the dwords at these byte addresses, touched at once.
BankCycles bank_cycles(std::vector<uint32_t> addresses);

/// Of the LDS instruction that the wave is about to execute, both halves of a wave64 summed.
BankCycles bank_cycles(const emu::Wave& wave, const isa::Inst& inst, const isa::Row& row);

}  // namespace doppel::profile
