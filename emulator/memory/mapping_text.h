// How messages name an extent of GPU memory.
#pragma once

#include <string>

#include "emulator/memory/gpu_vm.h"

namespace doppel::emu {

/// "vram 0x7f0000000000+0x1000 (handle 12)".
std::string describe(const Mapping& mapping);

}  // namespace doppel::emu
