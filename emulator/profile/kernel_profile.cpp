#include "emulator/profile/kernel_profile.h"

#include <algorithm>
#include <bit>

#include "emulator/isa/code_cache.h"
#include "emulator/isa/disassembler.h"
#include "emulator/profile/lds_banks.h"

namespace doppel::profile {
namespace {

constexpr uint64_t kLineBytes = 64;

Unit unit_of(const isa::Row& row) {
  if (row.name.starts_with("s_cbranch") || row.name == "s_branch") return Unit::Branch;
  switch (row.format) {
    case isa::Format::SOP1:
    case isa::Format::SOP2:
    case isa::Format::SOPC:
    case isa::Format::SOPK:
      return Unit::Scalar;
    case isa::Format::SOPP:
      return Unit::Other;
    case isa::Format::SMEM:
      return Unit::ScalarMemory;
    case isa::Format::DS:
      return Unit::Lds;
    case isa::Format::FLAT:
    case isa::Format::SCRATCH:
    case isa::Format::GLOBAL:
    case isa::Format::MUBUF:
    case isa::Format::MTBUF:
      return Unit::Memory;
    default:
      return Unit::Vector;
  }
}

bool uses_lanes(Unit unit) {
  return unit == Unit::Vector || unit == Unit::Memory || unit == Unit::Lds;
}

uint64_t lines_of(uint64_t va, uint64_t size) {
  return size == 0 ? 0 : (va + size - 1) / kLineBytes - va / kLineBytes + 1;
}

}  // namespace

std::string_view to_string(Unit unit) {
  switch (unit) {
    case Unit::Scalar:
      return "scalar";
    case Unit::Vector:
      return "vector";
    case Unit::Memory:
      return "vector memory";
    case Unit::ScalarMemory:
      return "scalar memory";
    case Unit::Lds:
      return "lds";
    case Unit::Branch:
      return "branch";
    case Unit::Other:
      return "control";
  }
  return "?";
}

std::string text_of(const emu::Wave& wave, const isa::Inst& inst) {
  return isa::disassemble_or_dwords(wave.target->family, wave.code->words_of(inst), wave.wave64());
}

Site& KernelProfile::site(const emu::Wave& wave, const isa::Inst& inst) {
  if (inst.pc == last_pc_) return *last_;
  last_pc_ = inst.pc;
  const auto [entry, added] = sites_.try_emplace(inst.pc);
  last_ = &entry->second;
  if (!added) return *last_;
  last_->text = text_of(wave, inst);
  last_->mnemonic = std::string_view(last_->text).substr(0, last_->text.find(' '));
  const auto decoded = isa::decode(wave.target->family, wave.code->words_of(inst));
  if (decoded) {
    last_->row = decoded->row;
    last_->unit = decoded->format() == isa::Format::VOPD ? Unit::Vector : unit_of(*decoded->row);
  }
  return *last_;
}

void KernelProfile::before(const emu::Wave& wave, const isa::Inst& inst) {
  Site& here = site(wave, inst);
  ++here.executions;
  if (!uses_lanes(here.unit)) return;
  const auto active = static_cast<uint32_t>(wave.wave64() ? std::popcount(wave.exec())
                                                          : std::popcount(wave.s[isa::kExecLo]));
  here.active_lanes += active;
  here.all_lanes += wave.lanes;
  here.idle += active == 0;
  here.partial += active != 0 && active != wave.lanes;
  if (here.unit != Unit::Lds) return;
  const BankCycles cycles = bank_cycles(wave, inst, *here.row);
  here.bank_needed += cycles.needed;
  here.bank_conflict += cycles.conflict;
}

void KernelProfile::on_lanes(uint64_t, uint32_t, uint32_t, const uint64_t* va, uint32_t exec,
                             uint32_t size, emu::AccessMode mode) {
  if (exec == 0) return;
  Traffic& traffic = traffic_[static_cast<size_t>(mode)];
  ++traffic.accesses;
  traffic.bytes += static_cast<uint64_t>(std::popcount(exec)) * size;
  std::vector<uint64_t> lines;
  for (; exec != 0; exec &= exec - 1) {
    const uint64_t first = va[std::countr_zero(exec)];
    for (uint64_t i = 0; i < lines_of(first, size); ++i) lines.push_back(first / kLineBytes + i);
  }
  std::ranges::sort(lines);
  traffic.lines += lines.size() - std::ranges::unique(lines).size();
}

void KernelProfile::on_range(uint64_t, uint32_t, uint32_t, uint64_t va, uint64_t size,
                             emu::AccessMode mode) {
  Traffic& traffic = traffic_[static_cast<size_t>(mode)];
  ++traffic.accesses;
  traffic.bytes += size;
  traffic.lines += lines_of(va, size);
}

uint64_t KernelProfile::executions() const {
  uint64_t sum = 0;
  for (const auto& [pc, site] : sites_) sum += site.executions;
  return sum;
}

uint64_t KernelProfile::executions(Unit unit) const {
  uint64_t sum = 0;
  for (const auto& [pc, site] : sites_) sum += site.unit == unit ? site.executions : 0;
  return sum;
}

}  // namespace doppel::profile
