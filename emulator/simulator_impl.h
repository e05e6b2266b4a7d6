// The parts of a Simulator and a Gpu that only the emulator itself touches.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "emulator/hardware_queue.h"
#include "emulator/ih/interrupt_handler.h"
#include "emulator/scheduler.h"
#include "emulator/simulator.h"

namespace doppel::emu {

struct Simulator::Impl {
  explicit Impl(SimulatorOptions simulator_options)
      : options(simulator_options),
        random(simulator_options.seed),
        scheduler(options.schedule ? *options.schedule : random) {}

  const SimulatorOptions options;
  RandomSchedule random;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Gpu>> gpus;
  Observer* observer = nullptr;  // not owned
};

struct Gpu::Impl {
  Impl(Scheduler& scheduler, uint32_t index, const GpuConfig& config);
  ~Impl();

  HardwareQueue* find(uint32_t id);

  GpuContext context;
  InterruptHandler interrupts;
  std::map<uint32_t, std::unique_ptr<HardwareQueue>> queues;
  /// Destroyed by a callback from their own step: freed when nothing steps any more.
  std::vector<std::unique_ptr<HardwareQueue>> buried;
};

}  // namespace doppel::emu
