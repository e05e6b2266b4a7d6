// The KFD ioctl ABI: what linux/kfd_ioctl.h of the build machine declares, plus what it lacks. The
// system header may be as old as 1.11 (Debian 12); the additions are in a namespace so that a newer
// one does no harm. Layouts: Linux include/uapi/linux/kfd_ioctl.h, version 1.15.
#pragma once

#include <linux/kfd_ioctl.h>

#include <cstddef>
#include <cstdint>

namespace doppel::kfd::abi {

// ---- Numbers (_IOC_NR) of the ioctls that 1.11 does not know.
inline constexpr uint32_t kExportDmabufNr = 0x24;
inline constexpr uint32_t kRuntimeEnableNr = 0x25;
inline constexpr uint32_t kDbgTrapNr = 0x26;

/// Since 1.12: a dma-buf descriptor for an allocation.
struct ExportDmabufArgs {
  uint64_t handle;     // in
  uint32_t flags;      // in: O_CLOEXEC, O_RDWR
  uint32_t dmabuf_fd;  // out
};
static_assert(sizeof(ExportDmabufArgs) == 16 && offsetof(ExportDmabufArgs, dmabuf_fd) == 12);

inline constexpr uint32_t kRuntimeEnable = 1;          // RuntimeEnableArgs::mode_mask
inline constexpr uint32_t kRuntimeEnableTtmpSave = 2;  // likewise

/// Since 1.13: announces the runtime to a debugger. EBUSY if enabled already, EEXIST if queues
/// exist.
struct RuntimeEnableArgs {
  uint64_t r_debug;            // in
  uint32_t mode_mask;          // in
  uint32_t capabilities_mask;  // out
};
static_assert(sizeof(RuntimeEnableArgs) == 16 && offsetof(RuntimeEnableArgs, mode_mask) == 8);

/// Since 1.13: debugger operations; the operands are a union of up to 24 bytes.
struct DbgTrapArgs {
  uint32_t pid;
  uint32_t op;
  uint64_t operands[3];
};
static_assert(sizeof(DbgTrapArgs) == 32);

inline constexpr uint32_t kDbgTrapOpCount = 15;

/// Since 1.14: the first word of kfd_event_data of a signal event. A non-zero age that differs from
/// the event's completes the wait at once; the event's age is returned. 0 asks for the old way.
struct SignalEventData {
  uint64_t last_event_age;
};
static_assert(sizeof(kfd_event_data) == 48 && offsetof(kfd_event_data, event_id) == 40);

inline constexpr unsigned long kExportDmabuf = AMDKFD_IOWR(kExportDmabufNr, ExportDmabufArgs);
inline constexpr unsigned long kRuntimeEnableRequest =
    AMDKFD_IOWR(kRuntimeEnableNr, RuntimeEnableArgs);
inline constexpr unsigned long kDbgTrap = AMDKFD_IOWR(kDbgTrapNr, DbgTrapArgs);

/// WAIT_EVENTS timeouts in milliseconds with a meaning of their own.
inline constexpr uint32_t kTimeoutImmediate = 0;
inline constexpr uint32_t kTimeoutInfinite = 0xffffffff;

/// The doorbells of a process on one GPU: two pages of 8-byte slots, mapped as a whole.
inline constexpr uint64_t kDoorbellSliceBytes = 8192;
inline constexpr uint64_t kEventPageBytes = KFD_SIGNAL_EVENT_LIMIT * 8;
/// A slot of the event page nobody has signalled.
inline constexpr uint64_t kUnsignaledEventSlot = ~uint64_t{0};

}  // namespace doppel::kfd::abi
