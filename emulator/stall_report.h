// Explains a stall: what each blocked queue waits for, which queued packet would end the wait, and
// which queues wait for one another in a circle.
//
//   queue 1 (pm4, gpu 0): WAIT_REG_MEM at dword 0 of the ring waits for 0x7f0000 >= 1, which holds
//   0 (gtt 0x7f0000+0x1000 (handle 3) +0x0)
//     queue 2 (sdma, gpu 0) would write it, but waits itself: FENCE at dword 6 of the ring
//   deadlock: queue 1 -> queue 2 -> queue 1
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/block.h"
#include "emulator/packet_outcome.h"
#include "emulator/simulator.h"

namespace doppel::emu {

/// A queued packet that would write the word that somebody waits for.
struct Producer {
  uint32_t queue_id = 0;
  std::string queue;     // "queue 2 (sdma, gpu 0)"
  std::string packet;    // "FENCE at dword 6 of the ring"
  bool faulted = false;  // its queue has stopped
  bool waits = false;    // its queue is stalled too
};

/// A queue that has work and can't go on.
struct Stall {
  uint32_t queue_id = 0;
  std::string queue;
  BlockedOn wait;
  std::vector<Producer> producers;  // queued, not carried out
};

/// By GPU and queue id.
std::vector<Stall> stalls(Simulator::Impl& simulator);

/// Circles of queues that wait for one another: indices into `stalls`, each queue in one at most.
std::vector<std::vector<size_t>> find_circles(std::span<const Stall> stalls);

/// "" if no queue waits.
std::string stall_report(std::span<const Stall> stalls);

}  // namespace doppel::emu
