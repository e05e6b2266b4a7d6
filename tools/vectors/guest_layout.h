// Where a replayed case's memory appears to the wave: far apart, beyond 32 bits, each on its own
// page.
#pragma once

#include <cstdint>

#include "emulator/memory/gpu_vm.h"

namespace doppel::vectors {

inline constexpr uint64_t kCodeAddress = 0x7a10'0000'0000;
inline constexpr uint64_t kOutputAddress = 0x7a21'0000'0000;
inline constexpr uint64_t kInputAddress = 0x7a32'0000'0000;
inline constexpr uint64_t kKernargAddress = 0x7a43'0000'0000;
inline constexpr uint64_t kFirstBufferAddress = 0x7b00'0000'0000;
inline constexpr uint64_t kBufferSpacing = 0x1'0000'0000;
inline constexpr uint64_t kZerosBehindCode =
    256;  // the instruction prefetch runs ahead of the wave

inline constexpr auto kRead = static_cast<uint8_t>(emu::Access::Read);
inline constexpr auto kReadWrite = static_cast<uint8_t>(emu::Access::ReadWrite);
inline constexpr auto kReadExecute =
    static_cast<uint8_t>(kRead | static_cast<uint8_t>(emu::Access::Execute));

}  // namespace doppel::vectors
