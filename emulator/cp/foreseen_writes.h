// What queued packets would write if they were reached: the producer's side of a stall report. Only
// what signals waiters is foreseen: fences, data writes, atomics, completion signals; not copies
// and kernels.
#pragma once

#include <vector>

#include "core/packets/packet.h"
#include "emulator/hardware_queue.h"
#include "emulator/memory/memory_port.h"

namespace doppel::emu {

/// The writes of one well-formed packet; PendingWrite::packet is left to the caller.
std::vector<PendingWrite> foreseen_writes(const packets::Packet& packet);

}  // namespace doppel::emu
