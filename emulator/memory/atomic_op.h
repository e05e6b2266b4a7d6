// Atomic operations of the L2 cache as ATOMIC_MEM (PM4) and ATOMIC (SDMA) name them: one place for
// their arithmetic. Carried out as host atomics, so that they hold against the host and other
// queues.
#pragma once

#include <cstdint>
#include <expected>

#include "core/packets/enums.h"
#include "emulator/memory/memory_port.h"

namespace doppel::emu {

/// Whether the operation is one of the integer ones below (and not READ, WRITE, NOP, or a number
/// that no operation has).
bool is_atomic(packets::AtomicOp op);
bool is_atomic_64(packets::AtomicOp op);
bool is_compare_swap(packets::AtomicOp op);

/// The memory value after `op` on `old`. INC wraps to 0 above `source`; DEC wraps to `source` at 0
/// and above it.
uint64_t atomic_result(packets::AtomicOp op, uint64_t old, uint64_t source, uint64_t compare);

/// Applies `op`, which is_atomic, to the 4 or 8 bytes at `va`; returns the old value.
std::expected<uint64_t, MemoryFault> apply_atomic(MemoryPort& port, packets::AtomicOp op,
                                                  uint64_t va, uint64_t source, uint64_t compare);

}  // namespace doppel::emu
