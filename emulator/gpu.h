// Gpu: one emulated GPU of a Simulator: address spaces, hardware queues, engines and the interrupt
// line. The driver model (backends/mock) creates and destroys queues here; user programs reach it
// only through rings, doorbells and memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "core/target.h"
#include "emulator/dispatch/dispatcher.h"
#include "emulator/fault.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::emu {

class Simulator;

struct GpuConfig {
  const Target* target = nullptr;
  uint32_t compute_units = 96;
  uint32_t sdma_engines = 2;
  uint32_t shader_engines = 6;
  uint64_t instruction_budget = kDefaultInstructionBudget;  // per dispatch
  uint32_t workers = 1;                                     // host threads for workgroups
  isa::Coverage* coverage = nullptr;  // counts what kernels execute; nullptr: nobody
};

/// What a GPU has done since it was made.
struct GpuCounters {
  uint64_t packets = 0;     // carried out by compute and SDMA queues
  uint64_t dispatches = 0;  // launched
  uint64_t workgroups = 0;  // run to their end
  uint64_t waves = 0;       // started
  uint64_t wave_instructions = 0;
  uint64_t faults = 0;  // queues stopped
};

enum class QueueKind : uint8_t { Pm4, Aql, Sdma };

/// What CREATE_QUEUE programs into a hardware queue descriptor. Addresses are GPU virtual ones.
struct QueueConfig {
  QueueKind kind = QueueKind::Pm4;
  uint32_t id = 0;      // the driver's queue id, unique in the simulator
  GpuVm* vm = nullptr;  // outlives the queue
  uint64_t ring = 0;
  uint64_t ring_bytes = 0;     // power of two
  uint64_t read_pointer = 0;   // where rptr is reported (PM4: dwords, SDMA: bytes, AQL: packets)
  uint64_t write_pointer = 0;  // wptr in memory, polled besides the doorbell
  const uint64_t* doorbell = nullptr;  // host address of the doorbell slot
  uint32_t sdma_engine = 0;
  uint32_t priority = 7;
};

/// The interrupt line to the driver model. Called from within Simulator::step().
class InterruptSink {
 public:
  virtual ~InterruptSink() = default;
  /// An end-of-pipe or SDMA TRAP interrupt with its context id (a KFD event id); `queue` is the
  /// driver's queue id.
  virtual void on_interrupt(uint32_t queue, uint32_t context_id) = 0;
  /// A queue stopped with `fault`. The queue executes nothing more until destroyed.
  virtual void on_fault(const Fault& fault) = 0;
};

class Gpu {
 public:
  Gpu(Simulator& simulator, uint32_t index, GpuConfig config);
  ~Gpu();

  uint32_t index() const;
  const GpuConfig& config() const;
  const GpuCounters& counters() const;

  /// Takes the queue into the schedule. InvalidArgument for a configuration hardware can't run.
  Result<> create_queue(const QueueConfig& config, InterruptSink* sink);
  /// Stops the queue where it is; nothing of it is touched afterwards. NotFound for unknown ids.
  Result<> destroy_queue(uint32_t id);
  /// Ring moved or resized, or paused (ring_bytes 0), as UPDATE_QUEUE allows.
  Result<> update_queue(uint32_t id, uint64_t ring, uint64_t ring_bytes);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace doppel::emu
