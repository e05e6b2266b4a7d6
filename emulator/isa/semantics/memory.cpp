#include "emulator/isa/semantics/memory.h"

#include <fmt/format.h>

DOPPEL_BEGIN_LEVEL

namespace {

bool allows(const emu::TlbEntry& entry, emu::Access access) {
  const auto wanted = static_cast<uint8_t>(access);
  return (entry.permissions & wanted) == wanted;
}

bool covers(const emu::TlbEntry& entry, const emu::GpuVm& vm, uint64_t va, uint32_t size,
            emu::Access access) {
  return entry.epoch == vm.epoch() && allows(entry, access) && va >= entry.va_begin &&
         entry.va_end - entry.va_begin >= size &&
         va - entry.va_begin <= entry.va_end - entry.va_begin - size;
}

void raise_memory_fault(Wave& wave, const Inst* inst, const emu::MemoryFault& memory, int lane) {
  const bool is_write = memory.access != emu::Access::Read;
  emu::Fault fault;
  fault.kind = memory.kind;
  fault.message = fmt::format("The kernel {} memory it cannot access (va {:#x}, {} bytes).",
                              is_write ? "writes" : "reads", memory.va, memory.size);
  fault.address = memory.va;
  fault.access_size = static_cast<uint32_t>(memory.size);
  fault.is_write = is_write;
  fault.nearest_allocation = memory.nearest;
  wave.raise(inst, std::move(fault), lane);
}

bool translate_each(Wave& wave, const Inst* inst, const uint64_t* va, uint32_t exec, uint32_t size,
                    emu::Access access, LanePointers& pointers) {
  for (uint32_t rest = exec; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const auto host = wave.context->vm->translate(va[l], size, access);
    if (!host) {
      raise_memory_fault(wave, inst, host.error(), static_cast<int>(wave.half * 32) + l);
      return false;
    }
    pointers.host[static_cast<size_t>(l)] = *host;
  }
  return true;
}

}  // namespace

bool translate_lanes(Wave& wave, const Inst* inst, const uint64_t* va, uint32_t exec, uint32_t size,
                     emu::Access access, LanePointers& pointers) {
  const emu::GpuVm& vm = *wave.context->vm;
  emu::TlbEntry& entry = wave.context->tlb[inst->site];
  const uint64_t first = va[std::countr_zero(exec)];
  if (!covers(entry, vm, first, size, access) &&
      (!vm.fill_tlb(first, entry) || !covers(entry, vm, first, size, access))) {
    return translate_each(wave, inst, va, exec, size, access, pointers);
  }
  const uint64_t begin = entry.va_begin;
  const uint64_t last = entry.va_end - begin - size;
  std::byte* const host = entry.host;
  uint64_t outside = 0, scattered = 0;
  for (int l = 0; l < 32; ++l) {
    const uint64_t offset = va[l] - begin;
    const uint64_t on = exec >> l & 1u;
    outside |= on & static_cast<uint64_t>(offset > last);
    scattered |= offset ^ (va[0] - begin + static_cast<uint64_t>(l) * size);
    pointers.host[static_cast<size_t>(l)] = host + offset;
  }
  if (outside != 0) return translate_each(wave, inst, va, exec, size, access, pointers);
  pointers.contiguous = exec == ~0u && scattered == 0;
  return true;
}

std::byte* translate_scalar(Wave& wave, const Inst* inst, uint64_t va, uint32_t size,
                            emu::Access access) {
  const emu::GpuVm& vm = *wave.context->vm;
  emu::TlbEntry& entry = wave.context->tlb[inst->site];
  if (covers(entry, vm, va, size, access) ||
      (vm.fill_tlb(va, entry) && covers(entry, vm, va, size, access))) {
    return entry.host + (va - entry.va_begin);
  }
  const auto host = vm.translate(va, size, access);
  if (host) return *host;
  raise_memory_fault(wave, inst, host.error(), -1);
  return nullptr;
}

DOPPEL_END_LEVEL
