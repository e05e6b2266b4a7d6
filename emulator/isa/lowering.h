// Lowering: resolves one Instruction into one Inst. The parts: lower_scalar.cpp, lower_memory.cpp,
// lower_vector.cpp. Internal to lower.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "emulator/isa/code_cache.h"
#include "emulator/isa/instruction.h"
#include "emulator/isa/lower.h"
#include "emulator/wave/wave.h"

namespace doppel::isa {

inline constexpr int64_t kRegisterBytes = sizeof(emu::LaneRegister);

/// Where an operand's bytes are.
struct Place {
  int64_t offset = 0;
  Base base = Base::Absolute;
};

class Lowering {
 public:
  Lowering(const Instruction& instruction, uint64_t pc, CodeCache& code, Inst& inst);
  Flow run();

 private:
  // Shared.
  const RowHandler& handler_of(const Row& row) const;
  uint32_t canonical(uint32_t code) const;
  uint16_t scalar_destination(uint32_t code) const;
  std::optional<Place> special_place(uint32_t code);
  void use_vgprs(uint32_t first, uint32_t count);
  void use_sgprs(uint32_t first, uint32_t count);
  void set_vdst(uint32_t index, OperandType type);
  void check_registers();
  Flow flow() const;

  // lower_scalar.cpp
  void lower_scalar();
  void set_immediate();
  std::optional<uint32_t> scalar_source_code(uint32_t i, uint32_t& encoded) const;
  void set_scalar_source(uint32_t i, std::optional<uint32_t> code, OperandType type);

  // lower_memory.cpp
  void lower_smem();
  void lower_vector_memory(Scope scope);
  void lower_buffer();
  void lower_flat();
  void set_cache_flags();

  // lower_vector.cpp
  void lower_vector(Scope scope);
  void set_vector_destination();
  void place_literal(const Row& row, std::array<uint32_t, 3>& codes) const;
  void set_mask_source(uint32_t code);
  void set_vector_source(uint32_t i, uint32_t code, OperandType type);
  void set_sign_modifiers(uint32_t i, OperandType type, bool neg, bool abs);
  void set_halves();
  void set_packed(uint32_t i);
  void set_mixed(uint32_t i);
  void set_dpp(std::array<uint32_t, 3>& codes);
  void set_sdwa(std::array<uint32_t, 3>& codes);
  void set_sdwa_selects();
  Place lanes_constant(uint64_t bits, OperandType type);
  bool overlaps_destination(uint32_t first, uint32_t count) const;
  bool has_16bit_registers() const;
  SourceStage& require_stage(uint32_t i);
  InstExtra& extra();
  void finish_vector(Scope scope);
  void lower_dual();
  void lower_dual_part(const Row& row, uint32_t vdst, uint32_t src0, uint32_t vsrc1);

  const Instruction& in_;
  const Row* row_;
  CodeCache& code_;
  Inst& inst_;
  InstExtra* extra_ = nullptr;
  uint32_t neg_ = 0, abs_ = 0;
  uint32_t highest_vgpr_ = 0;
  bool uses_vgprs_ = false;
  bool bad_sgpr_ = false;
  bool unsupported_source_ = false;
  bool special_ = false;  // VCCZ or EXECZ is read
  bool staged_ = false;
};

}  // namespace doppel::isa
