// Wave: the architectural state of one wave, and its place in workgroup and dispatch. Owned by its
// Workgroup; executed by one thread at a time.
//
// Vector registers are lane arrays: register r of half h is vgprs[h][r], 32 dwords, 64-byte
// aligned. A wave64 is two 32-lane halves; `half` says which one a per-lane handler works on, and
// base[Vgpr] points at its registers. Scalar registers stand at their operand code (s[106] is
// VCC_LO, s[126] EXEC_LO, with gfx11's numbers); writes to NULL go to s[kSinkSlot].
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/clock.h"
#include "core/target.h"
#include "emulator/fault.h"
#include "emulator/isa/inst.h"
#include "emulator/memory/gpu_vm.h"
#include "emulator/wave/mode.h"

namespace doppel::isa {
struct HandlerTable;
class CodeCache;
}  // namespace doppel::isa

namespace doppel::emu {

class AccessLog;
class Workgroup;

inline constexpr uint32_t kHalfLanes = 32;
inline constexpr uint32_t kSinkSlot = 128;  // where writes to NULL end
inline constexpr uint32_t kStagedRegisters = 16;
/// Registers behind the addressable ones, for handlers that need a temporary destination.
inline constexpr uint32_t kTemporaryVgpr = 256;
inline constexpr uint32_t kVgprSlots = 272;

struct alignas(64) LaneRegister {
  std::array<uint32_t, kHalfLanes> lane{};
};

/// Why a wave does not run on.
enum class WaveStop : uint8_t {
  None,
  Yielded,  // used its slice up, or sleeps
  Barrier,  // waits for the others of its workgroup
  Ended,
  Faulted,
};

/// What a wave needs of the thread that runs it.
struct ExecutionContext {
  const GpuVm* vm = nullptr;
  const Clock* clock = nullptr;
  TlbEntry* tlb = nullptr;        // one entry per access site of the program
  TlbEntry scalar_tlb;            // SMEM and instruction fetch
  AccessLog* log = nullptr;       // of the dispatch, while somebody observes it
  uint64_t lds_out_of_range = 0;  // LDS accesses beyond the allocation (reads give 0)
};

/// What operands address by byte offset (isa::Base::Wave): standard layout, so that offsets exist.
struct alignas(64) WaveOperands {
  std::array<uint32_t, 144> s{};        // scalar registers by operand code, NULL, EXEC; sink
  std::array<uint64_t, 5> apertures{};  // SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT, 0
  uint32_t scc = 0;
  uint32_t vccz = 0, execz = 0;  // refreshed when read as operands
  std::array<std::array<LaneRegister, kStagedRegisters>, 3> staged;  // prepared sources
};

struct alignas(64) Wave : WaveOperands {
  std::array<const std::byte*, 3> base{};  // by isa::Base
  uint32_t half = 0;       // of a wave64, which the running per-lane handler works on
  uint32_t lanes = 32;     // 32 or 64
  bool in_mode64 = false;  // MXCSR holds mode.mxcsr64() just now
  Mode mode;

  LaneRegister* vgprs = nullptr;  // [halves][kVgprSlots]
  ExecutionContext* context = nullptr;
  isa::CodeCache* code = nullptr;
  const Target* target = nullptr;
  std::span<std::byte> lds;
  uint64_t scratch_base = 0;  // GPU address of this wave's private memory
  uint32_t scratch_bytes_lane = 0;
  uint64_t flat_scratch = 0;  // FLAT_SCRATCH as HW_REG / gfx10.3 register pair

  const isa::Inst* resume = nullptr;
  WaveStop stop = WaveStop::None;
  std::unique_ptr<Fault> fault;
  Workgroup* workgroup = nullptr;
  uint32_t index = 0;  // in the workgroup
  uint64_t hw_id = 0;
  uint32_t trap_status = 0;

  uint32_t vgpr_limit = 0;  // allocated registers

  void select_half(uint32_t h) {
    half = h;
    base[static_cast<size_t>(isa::Base::Vgpr)] =
        reinterpret_cast<const std::byte*>(vgprs + h * kVgprSlots);
  }
  uint32_t* vgpr(uint32_t index) { return vgprs[half * kVgprSlots + index].lane.data(); }
  const uint32_t* vgpr(uint32_t index) const {
    return vgprs[half * kVgprSlots + index].lane.data();
  }
  /// Lanes of the current half that are on.
  uint32_t exec_half() const { return s[isa::kExecLo + half]; }
  bool wave64() const { return lanes == 64; }
  uint64_t exec() const { return pair(isa::kExecLo); }
  uint64_t pair(uint32_t first) const { return s[first] | uint64_t{s[first + 1]} << 32; }
  void set_pair(uint32_t first, uint64_t value) {
    s[first] = static_cast<uint32_t>(value);
    s[first + 1] = static_cast<uint32_t>(value >> 32);
  }
  /// A lane mask register: 32 or 64 bits by the wave's size.
  uint64_t mask(uint32_t first) const { return wave64() ? pair(first) : s[first]; }
  void set_mask(uint32_t first, uint64_t value) {
    s[first] = static_cast<uint32_t>(value);
    if (wave64()) s[first + 1] = static_cast<uint32_t>(value >> 32);
  }

  /// A sum of numbers, because an absolute place is no offset into an object.
  const std::byte* place(isa::Base from, int64_t offset) const {
    return reinterpret_cast<const std::byte*>(
        reinterpret_cast<intptr_t>(base[static_cast<size_t>(from)]) + offset);
  }
  /// The bytes of source `index` of `inst`.
  const std::byte* source(const isa::Inst& inst, uint32_t index) const {
    return place(inst.base[index], inst.source[index]);
  }
  uint32_t* destination(const isa::Inst& inst) {
    return reinterpret_cast<uint32_t*>(
        const_cast<std::byte*>(base[static_cast<size_t>(isa::Base::Vgpr)]) + inst.vdst);
  }

  /// Stops the wave; execution resumes at `at`. Returns nullptr, what a handler then returns.
  const isa::Inst* stop_at(WaveStop why, const isa::Inst* at) {
    stop = why;
    resume = at;
    return nullptr;
  }
  /// Stops the wave for good with a fault at `inst`; fills the fault's location in.
  const isa::Inst* raise(const isa::Inst* inst, Fault what, int lane = -1);
};

}  // namespace doppel::emu
