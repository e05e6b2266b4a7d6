// CpContext: everything of the machine that the packet processors of one compute queue may touch:
// guest memory, registers, the pipe, time, interrupts. No rings, no doorbells, no host memory.
#pragma once

#include "core/clock.h"
#include "core/target.h"
#include "emulator/cp/compute_pipe.h"
#include "emulator/cp/compute_registers.h"
#include "emulator/cp/in_flight_packets.h"
#include "emulator/gpu.h"
#include "emulator/ih/interrupt_line.h"
#include "emulator/memory/memory_port.h"

namespace doppel::emu {

struct CpContext {
  const Target& target;
  const GpuConfig& gpu;
  MemoryPort& memory;
  ComputeRegisters& registers;
  ComputePipe& pipe;
  InFlightPackets& in_flight;
  const Clock& clock;
  InterruptLine interrupts;

  uint64_t counter() const { return gpu_ticks(clock.now_ns()); }
};

}  // namespace doppel::emu
