// Explains a stall: what each blocked queue waits for, which queued packet would end the wait, and
// which queues wait for one another in a circle.
//
//   queue 1 (pm4, gpu 0): WAIT_REG_MEM at dword 0 of the ring waits for 0x7f0000 >= 1, which holds
//   0 (gtt 0x7f0000+0x1000 (handle 3) +0x0)
//     queue 2 (sdma, gpu 0) would write it, but waits itself: FENCE at dword 6 of the ring
//   deadlock: queue 1 -> queue 2 -> queue 1
#pragma once

#include <string>

#include "emulator/simulator.h"

namespace doppel::emu {

/// "" if no block waits.
std::string stall_report(Simulator::Impl& simulator);

}  // namespace doppel::emu
