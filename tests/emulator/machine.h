// Machine: a simulator with one GPU, one address space and queues that tests drive as a client
// would: through rings, write pointers, doorbells and memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/packets/aql.h"
#include "core/packets/pm4.h"
#include "core/packets/sdma.h"
#include "emulator/simulator.h"

namespace doppel::emu::test {

inline constexpr GfxFamily kFamily = GfxFamily::Gfx11;

/// Dwords of packets one after another.
class Stream {
 public:
  template <class Packet>
  Stream& operator<<(const Packet& packet) {
    const auto fixed = packet.dwords();
    dwords_.insert(dwords_.end(), fixed.begin(), fixed.end());
    const auto payload = packet.payload();
    dwords_.insert(dwords_.end(), payload.begin(), payload.end());
    return *this;
  }
  Stream& raw(std::initializer_list<uint32_t> dwords) {
    dwords_.insert(dwords_.end(), dwords.begin(), dwords.end());
    return *this;
  }

  std::vector<uint32_t>& dwords() { return dwords_; }
  const std::vector<uint32_t>& dwords() const { return dwords_; }
  uint32_t size() const { return static_cast<uint32_t>(dwords_.size()); }

 private:
  std::vector<uint32_t> dwords_;
};

/// Logs what the driver model would be told.
class Sink final : public InterruptSink {
 public:
  void on_interrupt(uint32_t queue, uint32_t context_id) override {
    interrupts.push_back({queue, context_id});
  }
  void on_fault(const Fault& fault) override { faults.push_back(fault); }

  std::vector<std::pair<uint32_t, uint32_t>> interrupts;  // queue, context
  std::vector<Fault> faults;
};

class Machine;

/// A client's side of one queue.
class Client {
 public:
  Client(Machine& machine, QueueKind kind, uint32_t id, uint64_t ring_bytes);

  /// Copies dwords into the ring and submits them by write pointer and doorbell.
  void submit(const Stream& stream);
  void submit(std::span<const uint32_t> dwords);
  /// The same without telling the queue.
  void write(std::span<const uint32_t> dwords);
  void ring_doorbell();
  void set_write_pointer();

  uint64_t read_pointer() const;
  uint32_t id() const { return config.id; }

  Machine& machine;
  QueueConfig config;
  uint64_t put = 0;  // dwords
  uint64_t doorbell = 0;
};

class Machine {
 public:
  explicit Machine(uint64_t seed = 1, uint64_t instruction_budget = uint64_t{1} << 40)
      : simulator({seed}) {
    GpuConfig config;
    config.target = find_target("gfx1100").value();
    config.instruction_budget = instruction_budget;
    simulator.add_gpu(config);
  }

  /// Fresh memory at a fresh address, `bytes` rounded up to pages.
  uint64_t allocate(uint64_t bytes, uint8_t permissions = 7) {
    const uint64_t size = (bytes + kGpuPageBytes - 1) / kGpuPageBytes * kGpuPageBytes;
    map_at(next_va_, size, permissions);
    const uint64_t va = next_va_;
    next_va_ += size + 16 * kGpuPageBytes;  // unmapped in between
    return va;
  }
  void map_at(uint64_t va, uint64_t size, uint8_t permissions = 7) {
    auto& block = blocks_.emplace_back(std::make_unique<Page[]>(size / kGpuPageBytes));
    auto mapped =
        vm.map({va, size, block[0].bytes, permissions, MemoryKind::Gtt, true, next_handle_++});
    EXPECT_TRUE(mapped.has_value()) << mapped.error().to_string();
  }

  template <class Word>
  Word peek(uint64_t va) const {
    Word value{};
    EXPECT_TRUE(vm.read(va, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
  template <class Word>
  void poke(uint64_t va, Word value) {
    EXPECT_TRUE(vm.write(va, std::as_bytes(std::span(&value, 1))));
  }
  uint64_t place(std::span<const uint32_t> dwords) {
    const uint64_t va = allocate(dwords.size_bytes() + 4);
    EXPECT_TRUE(vm.write(va, std::as_bytes(dwords)));
    return va;
  }

  Client& queue(QueueKind kind, uint64_t ring_bytes = 4096) {
    clients_.push_back(std::make_unique<Client>(*this, kind, next_queue_++, ring_bytes));
    return *clients_.back();
  }

  /// Steps until nothing is runnable; fails the test if that takes too long.
  void run(uint64_t limit = 10'000'000) {
    uint64_t steps = 0;
    while (simulator.step()) {
      if (++steps == limit) FAIL() << "the simulator runs without end";
    }
  }

  Gpu& gpu() { return simulator.gpu(0); }

  Simulator simulator;
  GpuVm vm;
  Sink sink;

 private:
  struct alignas(kGpuPageBytes) Page {
    std::byte bytes[kGpuPageBytes]{};
  };

  std::vector<std::unique_ptr<Page[]>> blocks_;
  std::vector<std::unique_ptr<Client>> clients_;
  uint64_t next_va_ = 0x7f00'0000'0000;
  uint64_t next_handle_ = 1;
  uint32_t next_queue_ = 1;
};

inline Client::Client(Machine& owner, QueueKind kind, uint32_t id, uint64_t ring_bytes)
    : machine(owner) {
  config.kind = kind;
  config.id = id;
  config.vm = &machine.vm;
  config.ring = machine.allocate(ring_bytes);
  config.ring_bytes = ring_bytes;
  // Laid out as in amd_queue_t, so that AQL queues have one.
  const uint64_t page = machine.allocate(4096);
  config.write_pointer = page + 56;
  config.read_pointer = page + 128;
  config.doorbell = &doorbell;
  if (kind == QueueKind::Aql) {
    for (uint64_t at = 0; at < ring_bytes; at += 64) machine.poke<uint16_t>(config.ring + at, 1);
  }
  auto created = machine.gpu().create_queue(config, &machine.sink);
  EXPECT_TRUE(created.has_value()) << created.error().to_string();
}

inline void Client::write(std::span<const uint32_t> dwords) {
  for (uint32_t dword : dwords) {
    machine.poke(config.ring + put++ * 4 % config.ring_bytes, dword);
  }
}

inline void Client::set_write_pointer() {
  uint64_t units = put;
  if (config.kind == QueueKind::Sdma) units = put * 4;
  if (config.kind == QueueKind::Aql) units = put / 16;
  machine.poke(config.write_pointer, units);
}

inline void Client::ring_doorbell() {
  doorbell = put;
  if (config.kind == QueueKind::Sdma) doorbell = put * 4;
  if (config.kind == QueueKind::Aql) doorbell = put / 16 - 1;
}

inline void Client::submit(std::span<const uint32_t> dwords) {
  write(dwords);
  set_write_pointer();
  ring_doorbell();
}
inline void Client::submit(const Stream& stream) {
  submit(stream.dwords());
}

inline uint64_t Client::read_pointer() const {
  return machine.peek<uint64_t>(config.read_pointer);
}

}  // namespace doppel::emu::test
