#include "emulator/isa/memory_access.h"

#include <fmt/format.h>

#include <utility>

#include "emulator/dispatch/workgroup.h"
#include "emulator/wave/wave.h"

namespace doppel::isa {
namespace {

using emu::Access;
using emu::Fault;
using emu::FaultKind;

bool stop(emu::Wave& wave, const Inst* inst, int lane, Fault fault) {
  wave.raise(inst, std::move(fault), lane);
  return false;
}

uint32_t wave_number(const emu::Wave& wave) {
  return static_cast<uint32_t>(wave.workgroup->linear() * wave.workgroup->wave_count()) +
         wave.index;
}

/// An access of one lane, or a scalar one (-1).
void record(const emu::Wave& wave, const Inst* inst, int lane, uint64_t va, uint64_t bytes,
            emu::AccessMode mode) {
  if (lane < 0) return record_scalar(wave, inst, va, bytes);
  wave.context->log->range(inst->pc, wave_number(wave), static_cast<uint32_t>(lane), va, bytes,
                           mode);
}

}  // namespace

void record_lanes(const emu::Wave& wave, const Inst* inst, const uint64_t* va, uint32_t exec,
                  uint32_t bytes, emu::AccessMode mode) {
  wave.context->log->lanes(inst->pc, wave_number(wave), wave.half * emu::kHalfLanes, va, exec,
                           bytes, mode);
}

void record_scalar(const emu::Wave& wave, const Inst* inst, uint64_t va, uint64_t bytes) {
  wave.context->log->range(inst->pc, wave_number(wave), 0, va, bytes, emu::AccessMode::ScalarRead);
}

bool read_memory(emu::Wave& wave, const Inst* inst, int lane, uint64_t va,
                 std::span<std::byte> out) {
  if (wave.context->log) record(wave, inst, lane, va, out.size(), emu::AccessMode::Read);
  auto read = wave.context->vm->read(va, out);
  return read ? true : stop(wave, inst, lane, emu::to_fault(read.error()));
}

bool write_memory(emu::Wave& wave, const Inst* inst, int lane, uint64_t va,
                  std::span<const std::byte> data) {
  if (wave.context->log) record(wave, inst, lane, va, data.size(), emu::AccessMode::Write);
  auto written = wave.context->vm->write(va, data);
  return written ? true : stop(wave, inst, lane, emu::to_fault(written.error()));
}

bool raise_inaccessible(emu::Wave& wave, const Inst* inst, int lane, uint64_t va, uint64_t bytes,
                        Access access) {
  return stop(wave, inst, lane, emu::to_fault(wave.context->vm->fault_at(va, bytes, access)));
}

bool raise_misaligned(emu::Wave& wave, const Inst* inst, int lane, uint64_t address,
                      uint32_t bytes) {
  Fault fault;
  fault.kind = FaultKind::Misaligned;
  fault.message = fmt::format(
      "The address of an atomic is a multiple of its size (0x{:x}, {} bytes).", address, bytes);
  fault.address = address;
  fault.access_size = bytes;
  fault.is_write = true;
  return stop(wave, inst, lane, std::move(fault));
}

bool raise_outside_scratch(emu::Wave& wave, const Inst* inst, int lane, uint32_t offset,
                           uint32_t bytes, Access access) {
  Fault fault;
  fault.kind = FaultKind::MemoryViolation;
  fault.message = fmt::format(
      "The private access of {} bytes lies outside the work-item's scratch memory (offset 0x{:x}, "
      "scratch {} bytes).",
      bytes, offset, wave.scratch_bytes_lane);
  fault.is_write = access != Access::Read;
  return stop(wave, inst, lane, std::move(fault));
}

bool raise_bad_format(emu::Wave& wave, const Inst* inst, uint32_t number) {
  Fault fault;
  fault.kind = FaultKind::UnsupportedInstruction;
  fault.message =
      fmt::format("The buffer format does not exist on {} ({}).", wave.target->name, number);
  return stop(wave, inst, -1, std::move(fault));
}

}  // namespace doppel::isa
