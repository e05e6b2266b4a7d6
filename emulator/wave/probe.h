// WaveProbe: sees every wave-instruction of a dispatch, before and after it executes: what counters
// and debuggers are made of. Without one, the interpreter's cost is one test per turn of a wave.
//
// Called on the thread that steps the simulator; a dispatch with a probe runs on one worker. The
// wave must not be changed.
#pragma once

#include "emulator/isa/inst.h"

namespace doppel::emu {

struct Wave;

class WaveProbe {
 public:
  virtual ~WaveProbe() = default;
  virtual void before(const Wave&, const isa::Inst&) {}
  /// The wave may have stopped (Wave::stop): ended, faulted, or waiting at a barrier.
  virtual void after(const Wave&, const isa::Inst&) {}
};

}  // namespace doppel::emu
