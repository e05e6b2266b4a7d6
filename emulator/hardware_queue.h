// HardwareQueue: what the front-ends of all queues have in common: their configuration, the way a
// fault stops them, and what the stall report asks of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/packets/packet.h"
#include "emulator/block.h"
#include "emulator/fault.h"
#include "emulator/gpu.h"
#include "emulator/memory/memory_port.h"

namespace doppel::emu {

class InterruptHandler;
struct PacketPlace;
class Observer;
class Scheduler;
struct QueueRef;

/// What the units of one GPU share. Outlives its queues.
struct GpuContext {
  uint32_t index = 0;
  GpuConfig config;
  Scheduler* scheduler = nullptr;
  InterruptHandler* interrupts = nullptr;
  Observer* observer = nullptr;  // of the simulator; not owned
  GpuCounters counters;
};

/// A packet that is queued and would write memory if it were reached.
struct PendingWrite {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string packet;  // "RELEASE_MEM at dword 40"
};

/// "queue 3 (pm4, gpu 0)".
std::string describe_queue(const QueueConfig& config, uint32_t gpu);

class HardwareQueue : public Block {
 public:
  HardwareQueue(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink)
      : gpu_(gpu),
        config_(config),
        sink_(sink),
        port_(*config.vm),
        name_(describe_queue(config, gpu.index)) {}

  const QueueConfig& config() const { return config_; }
  std::string name() const override { return name_; }
  /// What observers know the queue by.
  QueueRef ref() const;

  virtual void update_ring(uint64_t ring, uint64_t ring_bytes) = 0;

  /// Tells the observer, if any, of what has been submitted and not yet looked at.
  virtual void notice_submission() = 0;

  using QueuedVisitor = std::function<void(const packets::Packet&, const PacketPlace&)>;
  /// The packets behind the current one, those of IBs included, as far as they can be read.
  virtual void visit_queued(const QueuedVisitor& visit) = 0;
  /// Writes of these packets, as far as they can be foreseen.
  virtual std::vector<PendingWrite> pending_writes() = 0;

  bool faulted() const { return faulted_; }

 protected:
  /// Stops the queue and tells the driver model. `fault` knows what happened; this adds where.
  void fail(Fault fault);

  GpuContext& gpu_;
  QueueConfig config_;
  InterruptSink* const sink_;
  MemoryPort port_;

 private:
  const std::string name_;
  bool faulted_ = false;
};

/// The front-end for config.kind.
std::unique_ptr<HardwareQueue> make_hardware_queue(GpuContext& gpu, const QueueConfig& config,
                                                   InterruptSink* sink);

}  // namespace doppel::emu
