// How a copy engine moves bytes between guest addresses.
#pragma once

#include <cstdint>
#include <expected>

#include "emulator/memory/gpu_vm.h"

namespace doppel::emu {

enum class CopyDirection : uint8_t { Forwards, Backwards };

/// Copies `size` bytes across extents. The engine reads and writes in the order of `direction`:
/// forwards, a destination that begins inside the source repeats the source's beginning, unlike
/// memmove. Both addresses are checked before anything of an extent is moved.
std::expected<void, MemoryFault> copy_bytes(const GpuVm& vm, uint64_t destination, uint64_t source,
                                            uint64_t size, CopyDirection direction);

/// Fills `size` bytes with the element, of 1, 2 or 4 bytes, in the low bits of `value`.
std::expected<void, MemoryFault> fill_bytes(const GpuVm& vm, uint64_t destination, uint64_t size,
                                            uint32_t value, uint32_t element_bytes);

}  // namespace doppel::emu
