// AddressBook: what every address is called. Knows the mappings of all address spaces and the
// buffers behind them, also those that are gone; turns GPU addresses into where the bytes really
// are (so that one buffer on several GPUs is one), and those into "vram 3+0x40".
//
// Not thread-safe; on the thread that steps the simulator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/verify/finding.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::verify {

/// Memory that was mapped once.
struct Buffer {
  std::string name;         // "vram 3", or what the user calls it
  uint64_t host = 0;        // where its bytes are, or were
  uint64_t size = 0;        // bytes, whole pages
  uint64_t va = 0;          // GPU address of its first mapping
  uint64_t allocation = 0;  // the driver's handle
  emu::MemoryKind kind = emu::MemoryKind::Vram;
  bool coherent = false;
  bool host_visible = true;
  uint32_t mappings = 0;  // 0: it is gone
  uint64_t number = 0;    // in order of first mapping
  uint64_t freed_at = 0;  // simulator step
};

class AddressBook {
 public:
  void add_space(const emu::GpuVm& vm);
  void map(const emu::GpuVm& vm, const emu::Mapping& mapping);
  /// Returns the buffer if this was its last mapping, which is still there.
  Buffer* unmap(const emu::GpuVm& vm, const emu::Mapping& mapping, uint64_t step);
  /// Names the buffer that is, or will be, mapped first at or before `va`.
  void set_name(uint64_t va, std::string name);

  /// Calls visit(host, bytes, va) for each mapped piece of [va, va + size).
  template <class Visit>
  static void translate(const emu::GpuVm& vm, uint64_t va, uint64_t size, Visit&& visit) {
    while (size != 0) {
      const emu::Mapping* mapping = vm.find(va);
      if (!mapping) return;
      const uint64_t inside = va - mapping->va;
      const uint64_t piece = size < mapping->size - inside ? size : mapping->size - inside;
      visit(reinterpret_cast<uint64_t>(mapping->host) + inside, piece, va);
      va += piece;
      size -= piece;
    }
  }
  /// The host address behind `va`, or 0.
  static uint64_t host_of(const emu::GpuVm& vm, uint64_t va);
  /// A space in which `va` is mapped, or nullptr: where the host's addresses are looked up.
  const emu::GpuVm* space_of(uint64_t va) const;

  /// The buffer whose bytes are at `host`, or nullptr.
  const Buffer* find(uint64_t host) const;
  /// The buffer that was at GPU address `va` last and is gone, or nullptr.
  const Buffer* find_gone(uint64_t va) const;
  /// The live buffer that ends at most `within` bytes below GPU address `va`, or nullptr.
  const Buffer* find_below(uint64_t va, uint64_t within) const;
  /// Live buffers, by host address.
  const std::map<uint64_t, std::shared_ptr<Buffer>>& live() const { return live_; }

  BufferRange describe(uint64_t host, uint64_t size, uint64_t va) const;

 private:
  std::vector<const emu::GpuVm*> spaces_;             // where something is mapped, or a queue works
  std::map<uint64_t, std::shared_ptr<Buffer>> live_;  // by host address
  std::vector<std::shared_ptr<Buffer>> gone_;
  uint64_t next_number_ = 1;
};

}  // namespace doppel::verify
