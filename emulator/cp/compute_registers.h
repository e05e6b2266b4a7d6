// ComputeRegisters: the register state of one compute queue, as SET_SH_REG, SET_UCONFIG_REG and
// their like leave it, and how a dispatch follows from it. Registers are those of
// core/packets/registers.inc; addresses are absolute dword addresses.
//
// The whole SH and UCONFIG windows can be written and read back. Outside them there is only the
// HDP flush: its acknowledgement shows every client's flush as done.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>

#include "core/packets/registers.h"
#include "emulator/dispatch/dispatch.h"
#include "emulator/fault.h"
#include "emulator/gpu.h"

namespace doppel::emu {

/// Sets the scratch ring of a dispatch from its base address and COMPUTE_TMPRING_SIZE.
void set_scratch(Dispatch& dispatch, const GpuConfig& gpu, uint64_t base, uint32_t tmpring_size);

class ComputeRegisters {
 public:
  explicit ComputeRegisters(const GpuConfig& gpu) : gpu_(gpu), family_(gpu.target->family) {}

  /// False: not a register that a compute queue may write.
  bool write(uint32_t address, uint32_t value);
  std::optional<uint32_t> read(uint32_t address) const;

  /// The dispatch that DISPATCH_DIRECT with `dims` and `initiator` launches. All but its address
  /// space. A fault for a mode that is not modelled.
  std::expected<Dispatch, Fault> dispatch(std::array<uint32_t, 3> dims, uint32_t initiator) const;

 private:
  /// Value of an SH register; 0 if the family lacks it.
  uint32_t sh(const regs::RegisterRow& row, uint32_t index = 0) const;
  uint64_t sh_pair(const regs::RegisterRow& low) const;

  const GpuConfig& gpu_;
  const GfxFamily family_;
  std::array<uint32_t, regs::kShEnd - regs::kShBase> sh_{};
  std::map<uint32_t, uint32_t> uconfig_;
};

}  // namespace doppel::emu
