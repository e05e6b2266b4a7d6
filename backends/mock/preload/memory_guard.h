// MemoryGuard: client memory that GPUs use may go away at any time: by munmap or mremap, by libc
// giving a freed block back, by truncating the file behind it. The kernel's driver hears of that by
// an MMU notifier; this one by the page fault that its engine threads then meet. The guard puts an
// empty page there, so that the engine survives the access, and keeps the address for the driver
// model, which takes the memory from the GPU and raises the memory exception.
//
// It needs the handlers of SIGSEGV and SIGBUS for itself. The client's own handlers are kept, told
// to whoever asks for them, and called for every fault that is not an engine thread's.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>

namespace doppel::mock::preload {

class MemoryGuard {
 public:
  /// Whether the client's page at the address is one that GPUs use. Called in a signal handler.
  using UsedByGpu = bool (*)(uint64_t address);

  /// Puts the handlers in place. Once is enough: a forked child inherits them.
  static void install(UsedByGpu used);

  /// Whether the client's handler of the signal is the guard's to keep.
  static bool keeps(int signal_number);
  /// sigaction(2) of a signal that it keeps; safe in signal handlers.
  static void exchange(int signal_number, const struct sigaction* wanted,
                       struct sigaction* previous);

  /// An address that has been lost since the last call.
  static std::optional<uint64_t> take_lost();
};

}  // namespace doppel::mock::preload
