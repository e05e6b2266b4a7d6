// KernelProfile: what one dispatch did, counted while it ran: per instruction how often, with how
// many lanes and LDS conflicts; per kind of access the bytes and cache lines.
//
// A WaveProbe and an AccessListener; on the thread that steps the simulator.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/target.h"
#include "emulator/isa/instruction.h"
#include "emulator/memory/access_log.h"
#include "emulator/wave/probe.h"
#include "emulator/wave/wave.h"

namespace doppel::profile {

/// Unit that executes an instruction.
enum class Unit : uint8_t { Scalar, Vector, Memory, ScalarMemory, Lds, Branch, Other };
inline constexpr size_t kUnits = 7;
std::string_view to_string(Unit unit);

/// One instruction of the program.
struct Site {
  std::string text;  // disassembled
  std::string_view mnemonic;
  Unit unit = Unit::Other;
  const isa::Row* row = nullptr;
  uint64_t executions = 0;    // by waves
  uint64_t active_lanes = 0;  // summed over executions
  uint64_t all_lanes = 0;
  uint64_t partial = 0;  // executions with some, not all of the wave's lanes on
  uint64_t idle = 0;     // with none
  uint64_t bank_needed = 0, bank_conflict = 0;  // LDS cycles
};

/// Accesses of one mode.
struct Traffic {
  uint64_t accesses = 0;  // of half waves, or of scalars
  uint64_t bytes = 0;
  uint64_t lines = 0;  // cache lines of 64 bytes that the accesses touch
};

class KernelProfile final : public emu::WaveProbe, public emu::AccessListener {
 public:
  void before(const emu::Wave& wave, const isa::Inst& inst) override;
  void on_lanes(uint64_t pc, uint32_t wave, uint32_t first_lane, const uint64_t* va, uint32_t exec,
                uint32_t size, emu::AccessMode mode) override;
  void on_range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
                emu::AccessMode mode) override;

  const std::map<uint64_t, Site>& sites() const { return sites_; }  // by pc
  const Traffic& traffic(emu::AccessMode mode) const { return traffic_[static_cast<size_t>(mode)]; }
  uint64_t executions() const;
  uint64_t executions(Unit unit) const;

 private:
  Site& site(const emu::Wave& wave, const isa::Inst& inst);

  std::map<uint64_t, Site> sites_;
  std::array<Traffic, 4> traffic_;
  uint64_t last_pc_ = ~uint64_t{0};
  Site* last_ = nullptr;
};

/// The instruction at `inst` as text.
std::string text_of(const emu::Wave& wave, const isa::Inst& inst);

}  // namespace doppel::profile
