// FakeDevice: memory, signals and queues without a GPU, for tests of what a graph encodes.
// Addresses come from a counter, so that the same calls give the same addresses; submissions are
// kept, not run; waits succeed at once and signals keep what the test gives them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/device.h"
#include "core/golden/golden_file.h"
#include "core/queue.h"

namespace doppel::test {

/// The address space that the devices of one test share.
struct FakeMemory {
  uint64_t next_address = 0x7f00'0000'0000;
  std::map<uint64_t, std::span<std::byte>> live_allocations;  // by address
  uint32_t live_signals = 0;
  /// Everything ever made, by what it is and its number among its like: "ib0", "gtt1", "signal2".
  std::vector<golden::NamedRange> regions;

  /// Everything that is allocated, byte by byte, by address.
  std::map<uint64_t, std::vector<std::byte>> contents() const {
    std::map<uint64_t, std::vector<std::byte>> copy;
    for (const auto& [address, bytes] : live_allocations)
      copy.emplace(address, std::vector(bytes.begin(), bytes.end()));
    return copy;
  }

  uint64_t take(std::string_view kind, uint64_t bytes) {
    const uint64_t address = next_address;
    next_address += (bytes + 0xfff) / 0x1000 * 0x1000;
    regions.emplace_back(fmt::format("{}{}", kind, made_[std::string(kind)]++), address, bytes);
    return address;
  }

 private:
  std::map<std::string, uint32_t> made_;  // of each kind
};

class FakeAllocation final : public AllocationState {
 public:
  FakeAllocation(FakeMemory& memory, uint64_t bytes, const AllocationOptions& with)
      : memory_(memory), bytes_(bytes + 4096) {
    size = bytes;
    options = with;
    const bool is_vram = with.domain == MemoryDomain::Vram;
    gpu_address = memory.take(is_vram ? "vram" : with.executable ? "ib" : "gtt", bytes);
    // Aligned like the GPU's page, as a driver's mapping is.
    const uintptr_t start = reinterpret_cast<uintptr_t>(bytes_.data());
    host = bytes_.data() + ((start + 4095) / 4096 * 4096 - start);
    memory_.live_allocations.emplace(gpu_address, std::span(host, size));
  }
  ~FakeAllocation() override { memory_.live_allocations.erase(gpu_address); }
  Result<> release() override { return {}; }

 private:
  FakeMemory& memory_;
  std::vector<std::byte> bytes_;
};

class FakeSignal final : public SignalState {
 public:
  FakeSignal(FakeMemory& space, const SignalOptions& options) : space_(space) {
    ++space_.live_signals;
    signal_.value = options.initial;
    memory = &signal_;
    ref.address = space.take("signal", sizeof signal_);
    if (!options.interrupt) return;
    ref.mailbox_address = space.take("mailbox", 8);
    ref.event_id = static_cast<uint32_t>(ref.address >> 12 & 0xff);
  }
  ~FakeSignal() override { --space_.live_signals; }
  Result<> wait(int64_t, const WaitOptions&) override { return {}; }

 private:
  FakeMemory& space_;
  abi::AmdSignal signal_{};
};

class FakeQueue final : public Queue {
 public:
  FakeQueue(Device& device, QueueKind kind, uint64_t capacity)
      : device_(device), kind_(kind), capacity_(capacity) {}

  QueueKind kind() const override { return kind_; }
  uint32_t id() const override { return static_cast<uint32_t>(kind_); }
  Device& device() const override { return device_; }
  uint64_t max_stream() const override { return capacity_; }
  Result<std::unique_ptr<QueueReservation>> reserve(Submission submission) override {
    DOPPEL_TRY(submission.commands.check());
    if (refusal) return std::unexpected(*std::exchange(refusal, std::nullopt));
    return std::make_unique<Reservation>(*this, std::move(submission));
  }
  Result<ScratchLease> scratch(uint32_t, uint32_t) override {
    return ScratchLease{.ring = {.address = 0x7e00'0000'0000, .tmpring_size = 0x2020},
                        .keep_alive = nullptr};
  }
  HiddenArgs hidden_args() const override { return {}; }
  uint64_t submitted() const override { return submissions.size(); }
  uint64_t retired() override { return submissions.size(); }
  Result<> synchronize(const WaitOptions&) override { return {}; }

  std::vector<Submission> submissions;
  /// What the next reservation meets.
  std::optional<Status> refusal;

 private:
  class Reservation final : public QueueReservation {
   public:
    Reservation(FakeQueue& queue, Submission submission)
        : queue_(queue), submission_(std::move(submission)) {}
    void publish() override { queue_.submissions.push_back(std::move(submission_)); }

   private:
    FakeQueue& queue_;
    Submission submission_;
  };

  Device& device_;
  QueueKind kind_;
  uint64_t capacity_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(FakeMemory& memory, std::string name, std::string_view target = "gfx1100")
      : memory_(memory) {
    info_.name = std::move(name);
    info_.target = *find_target(target);
    info_.vram_bytes = info_.visible_vram_bytes = uint64_t{1} << 30;
  }

  const DeviceInfo& info() const override { return info_; }
  Result<Allocation> allocate(uint64_t bytes, const AllocationOptions& options) override {
    auto state = std::make_unique<FakeAllocation>(memory_, bytes, options);
    state->owner = this;
    mapped_.insert(state.get());
    return Allocation(std::move(state));
  }
  Result<> map(const MemoryView& memory) override {
    mapped_.insert(memory.allocation);
    return {};
  }
  Result<> unmap(const MemoryView& memory) override {
    mapped_.erase(memory.allocation);
    return {};
  }
  bool is_mapped(const MemoryView& memory) const override {
    return mapped_.contains(memory.allocation);
  }
  Result<Signal> create_signal(const SignalOptions& options) override {
    return Signal(std::make_unique<FakeSignal>(memory_, options));
  }
  Result<std::unique_ptr<Queue>> create_queue(const QueueOptions& options) override {
    return std::make_unique<FakeQueue>(*this, options.kind, options.ring_bytes / 4);
  }
  Result<Queue*> default_queue(QueueKind kind) override {
    if (kind == QueueKind::Pm4 && !has_pm4)
      return error(StatusCode::Unsupported, "The device has no PM4 queues.");
    return &queue(kind);
  }
  Result<> synchronize(const WaitOptions&) override { return {}; }
  Result<ClockFit> clock_fit() override { return ClockFit{}; }
  Result<> close() override { return {}; }
  Result<> flush_host_writes() override { return {}; }

  FakeQueue& queue(QueueKind kind) {
    auto& queue = queues_[kind];
    if (!queue) queue = std::make_unique<FakeQueue>(*this, kind, queue_dwords);
    return *queue;
  }

  bool has_pm4 = true;
  uint64_t queue_dwords = 1 << 18;

 private:
  FakeMemory& memory_;
  DeviceInfo info_;
  std::set<const AllocationState*> mapped_;
  std::map<QueueKind, std::unique_ptr<FakeQueue>> queues_;
};

}  // namespace doppel::test
