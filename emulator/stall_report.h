// Explains a stall: for every block that waits, what it waits for and which queued packet, or
// nobody, would end the wait.
#pragma once

#include <string>

#include "emulator/simulator.h"

namespace doppel::emu {

/// One paragraph per waiting block; "" if none waits.
std::string stall_report(Simulator::Impl& simulator);

}  // namespace doppel::emu
