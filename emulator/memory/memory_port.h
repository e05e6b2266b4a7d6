// MemoryPort: a unit's way to guest memory. One TLB entry in front of a GpuVm makes polls and small
// packets cheap; words are read and written as single-copy atomics, because the host and other
// queues touch them at the same time (rings' pointers, signals, fences).
//
// Not thread-safe; each unit has its own. Sees map and unmap at its next access (GpuVm::epoch).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <expected>
#include <span>
#include <utility>
#include <vector>

#include "emulator/memory/access_log.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::emu {

class MemoryPort {
 public:
  explicit MemoryPort(const GpuVm& vm) : vm_(&vm) {}

  const GpuVm& vm() const { return *vm_; }

  /// From now on, accesses are appended to `accesses`; nullptr: no more.
  void record_to(std::vector<MemoryAccess>* accesses) { accesses_ = accesses; }
  /// Records an access that the unit makes past this port.
  void note(uint64_t va, uint64_t size, AccessMode mode) {
    if (accesses_) [[unlikely]]
      accesses_->push_back({va, size, mode});
  }

  /// Reads a naturally aligned word, with acquire order.
  template <class Word>
  std::expected<Word, MemoryFault> load(uint64_t va) {
    auto* word = locate<Word>(va, Access::Read);
    if (!word) [[unlikely]]
      return std::unexpected(vm_->fault_at(va, sizeof(Word), Access::Read));
    note(va, sizeof(Word), AccessMode::Read);
    return std::atomic_ref(*word).load(std::memory_order_acquire);
  }

  /// Writes exactly the bytes of a naturally aligned word, with release order.
  template <class Word>
  std::expected<void, MemoryFault> store(uint64_t va, Word value) {
    auto* word = locate<Word>(va, Access::Write);
    if (!word) [[unlikely]]
      return std::unexpected(vm_->fault_at(va, sizeof(Word), Access::Write));
    note(va, sizeof(Word), AccessMode::Write);
    std::atomic_ref(*word).store(value, std::memory_order_release);
    return {};
  }

  /// Replaces a naturally aligned word by update(old), atomically; returns the old value.
  template <class Word, class Update>
  std::expected<Word, MemoryFault> exchange(uint64_t va, Update update) {
    auto* word = locate<Word>(va, Access::ReadWrite);
    if (!word) [[unlikely]]
      return std::unexpected(vm_->fault_at(va, sizeof(Word), Access::ReadWrite));
    note(va, sizeof(Word), AccessMode::Atomic);
    std::atomic_ref shared(*word);
    Word old = shared.load(std::memory_order_acquire);
    while (!shared.compare_exchange_weak(old, update(old), std::memory_order_acq_rel)) {
    }
    return old;
  }

  /// Any bytes, across extents, without atomicity.
  std::expected<void, MemoryFault> read(uint64_t va, std::span<std::byte> out) {
    note(va, out.size(), AccessMode::Read);
    if (hit(va, out.size(), Access::Read)) {
      std::copy_n(tlb_.host + (va - tlb_.va_begin), out.size(), out.data());
      return {};
    }
    return vm_->read(va, out);
  }
  std::expected<void, MemoryFault> write(uint64_t va, std::span<const std::byte> data) {
    note(va, data.size(), AccessMode::Write);
    if (hit(va, data.size(), Access::Write)) {
      std::copy_n(data.data(), data.size(), tlb_.host + (va - tlb_.va_begin));
      return {};
    }
    return vm_->write(va, data);
  }

 private:
  bool hit(uint64_t va, uint64_t size, Access access) {
    if (tlb_.epoch != vm_->epoch() || va - tlb_.va_begin >= tlb_.va_end - tlb_.va_begin) {
      if (!vm_->fill_tlb(va, tlb_)) return false;
    }
    const auto wanted = std::to_underlying(access);
    return size <= tlb_.va_end - va && (tlb_.permissions & wanted) == wanted;
  }

  template <class Word>
  Word* locate(uint64_t va, Access access) {
    if (va % sizeof(Word) != 0 || !hit(va, sizeof(Word), access)) return nullptr;
    return reinterpret_cast<Word*>(tlb_.host + (va - tlb_.va_begin));
  }

  const GpuVm* vm_;
  std::vector<MemoryAccess>* accesses_ = nullptr;
  TlbEntry tlb_;
};

}  // namespace doppel::emu
