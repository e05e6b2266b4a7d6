// EmulatedQueue: one queue of an emulated gfx1100 with its memory, driven as by a client; what the
// benchmarks of the emulator share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "emulator/simulator.h"

namespace doppel::emu::bench {

inline constexpr GfxFamily kFamily = GfxFamily::Gfx11;

class EmulatedQueue final : public InterruptSink {
 public:
  EmulatedQueue(QueueKind kind, uint64_t ring_bytes, uint64_t arena_bytes)
      : arena_((arena_bytes + kAlign) / kGpuPageBytes * kGpuPageBytes) {
    GpuConfig gpu;
    gpu.target = find_target("gfx1100").value();
    simulator.add_gpu(gpu);
    const Mapping mapping{kBase, arena_.size() - kAlign, host(), 7, MemoryKind::Vram, false, 1};
    require(vm.map(mapping).has_value(), "map");
    config_.kind = kind;
    config_.id = 1;
    config_.vm = &vm;
    config_.ring = allocate(ring_bytes);
    config_.ring_bytes = ring_bytes;
    const uint64_t page = allocate(4096);
    config_.write_pointer = page + 56;
    config_.read_pointer = page + 128;
    config_.doorbell = &doorbell_;
    if (kind == QueueKind::Aql) {
      for (uint64_t at = 0; at < ring_bytes; at += 64) at_va<uint16_t>(config_.ring + at) = 1;
    }
    require(simulator.gpu(0).create_queue(config_, this).has_value(), "create_queue");
  }

  uint64_t allocate(uint64_t bytes) {
    const uint64_t va = next_;
    next_ += (bytes + kGpuPageBytes - 1) / kGpuPageBytes * kGpuPageBytes;
    require(next_ - kBase <= arena_.size() - kAlign, "arena");
    return va;
  }
  template <class T>
  T& at_va(uint64_t va) {
    return *reinterpret_cast<T*>(host() + (va - kBase));
  }

  void submit(std::span<const uint32_t> dwords) {
    for (uint32_t dword : dwords) {
      at_va<uint32_t>(config_.ring + put_++ * 4 % config_.ring_bytes) = dword;
    }
    const uint64_t unit = config_.kind == QueueKind::Aql ? 16 : 1;
    const uint64_t bytes = config_.kind == QueueKind::Sdma ? 4 : 1;
    at_va<uint64_t>(config_.write_pointer) = put_ / unit * bytes;
    doorbell_ = put_ / unit * bytes - (config_.kind == QueueKind::Aql ? 1 : 0);
  }
  void run() {
    while (simulator.step()) {
    }
  }

  void on_interrupt(uint32_t, uint32_t) override {}
  void on_fault(const Fault& fault) override { require(false, fault.to_string().c_str()); }

  Simulator simulator;
  GpuVm vm;

 private:
  static constexpr uint64_t kBase = 0x7f00'0000'0000;
  static constexpr uint64_t kAlign = kGpuPageBytes;

  static void require(bool ok, const char* what) {
    if (ok) return;
    std::fprintf(stderr, "bench: %s failed\n", what);
    std::abort();
  }
  std::byte* host() {
    void* at = arena_.data();
    size_t space = arena_.size();
    return static_cast<std::byte*>(std::align(kAlign, arena_.size() - kAlign, at, space));
  }

  std::vector<std::byte> arena_;
  QueueConfig config_;
  uint64_t next_ = kBase;
  uint64_t put_ = 0;
  uint64_t doorbell_ = 0;
};

/// Appends packets to a stream of dwords.
template <class... Packets>
void append(std::vector<uint32_t>& stream, const Packets&... packets) {
  auto one = [&](const auto& packet) {
    const auto fixed = packet.dwords();
    stream.insert(stream.end(), fixed.begin(), fixed.end());
    const auto payload = packet.payload();
    stream.insert(stream.end(), payload.begin(), payload.end());
  };
  (one(packets), ...);
}

}  // namespace doppel::emu::bench
