// LoadedProgram: the names of kernels from code as it lies in GPU memory. A client loads the first
// segment of a linked code object with everything in it: ELF header, dynamic symbols, their names.
// Clients that load only instructions leave no names.
//
// Reads guest memory and trusts none of it.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/memory/gpu_vm.h"

namespace doppel::mock {

/// The function whose code holds `pc`, demangled; "" if no image around it says.
std::string function_name(const emu::GpuVm& vm, uint64_t pc);

}  // namespace doppel::mock
