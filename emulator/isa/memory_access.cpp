#include "emulator/isa/memory_access.h"

#include <fmt/format.h>

#include <utility>

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

}  // namespace

bool read_memory(emu::Wave& wave, const Inst* inst, int lane, uint64_t va,
                 std::span<std::byte> out) {
  auto read = wave.context->vm->read(va, out);
  return read ? true : stop(wave, inst, lane, emu::to_fault(read.error()));
}

bool write_memory(emu::Wave& wave, const Inst* inst, int lane, uint64_t va,
                  std::span<const std::byte> data) {
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
