// The slow and the failing paths of memory instructions, compiled once, whatever level the fast
// ones are compiled for: accesses that cross extents, and the faults of those that may not be.
//
// `lane` is the number in the wave, or -1 for scalar accesses. A function that returns false has
// stopped the wave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "emulator/isa/inst.h"
#include "emulator/memory/access_log.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::isa {

bool read_memory(emu::Wave& wave, const Inst* inst, int lane, uint64_t va,
                 std::span<std::byte> out);
bool write_memory(emu::Wave& wave, const Inst* inst, int lane, uint64_t va,
                  std::span<const std::byte> data);

/// Tells the dispatch's access log, which there is, of an access to GPU memory: of the lanes in
/// `exec` of the running half at va[lane], or of a scalar one.
void record_lanes(const emu::Wave& wave, const Inst* inst, const uint64_t* va, uint32_t exec,
                  uint32_t bytes, emu::AccessMode mode);
void record_scalar(const emu::Wave& wave, const Inst* inst, uint64_t va, uint64_t bytes);

/// No extent holds [va, va + bytes) and permits the access: false.
bool raise_inaccessible(emu::Wave& wave, const Inst* inst, int lane, uint64_t va, uint64_t bytes,
                        emu::Access access);
/// An atomic's address is not a multiple of its size: false.
bool raise_misaligned(emu::Wave& wave, const Inst* inst, int lane, uint64_t address,
                      uint32_t bytes);
/// A private access lies outside of the work-item's scratch memory: false.
bool raise_outside_scratch(emu::Wave& wave, const Inst* inst, int lane, uint32_t offset,
                           uint32_t bytes, emu::Access access);
/// The number of a buffer format means nothing on the target: false.
bool raise_bad_format(emu::Wave& wave, const Inst* inst, uint32_t number);

}  // namespace doppel::isa
