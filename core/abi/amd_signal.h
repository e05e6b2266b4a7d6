// amd_signal_t: the 64 bytes behind an hsa_signal_t handle, shared by host, CP, SDMA and firmware.
// Source: ROCr's amd_hsa_signal.h (public ABI of the HSA runtime for AMD).
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppel::abi {

enum AmdSignalKind : int64_t {
  AMD_SIGNAL_KIND_INVALID = 0,
  AMD_SIGNAL_KIND_USER = 1,
  AMD_SIGNAL_KIND_DOORBELL = -1,
};

struct alignas(64) AmdSignal {
  int64_t kind;                // AmdSignalKind
  int64_t value;               // what waiters compare
  uint64_t event_mailbox_ptr;  // where a signaller stores event_id before it interrupts; 0 = none
  uint32_t event_id;           // the driver's event
  uint32_t reserved1;
  uint64_t start_ts;  // GPU counter ticks
  uint64_t end_ts;
  uint64_t queue_ptr;  // doorbell signals only
  uint32_t reserved3[2];
};
static_assert(sizeof(AmdSignal) == 64);
static_assert(offsetof(AmdSignal, value) == 8);
static_assert(offsetof(AmdSignal, event_mailbox_ptr) == 16);
static_assert(offsetof(AmdSignal, event_id) == 24);
static_assert(offsetof(AmdSignal, start_ts) == 32);
static_assert(offsetof(AmdSignal, end_ts) == 40);

}  // namespace doppel::abi
