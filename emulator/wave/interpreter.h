// The interpreter loop.
#pragma once

#include <cstdint>

#include "emulator/wave/wave.h"

namespace doppel::emu {

class WaveProbe;

/// Runs `wave` from Wave::resume until it stops or has executed `budget` instructions; returns how
/// many it executed. `executed_per_row`, if not null, counts them per instruction row; `probe`, if
/// not null, sees each of them.
uint64_t run_wave(Wave& wave, uint64_t budget, uint64_t* executed_per_row = nullptr,
                  WaveProbe* probe = nullptr);

}  // namespace doppel::emu
