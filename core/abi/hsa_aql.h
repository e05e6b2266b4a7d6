// AQL packets as they lie in a queue's ring. Sources: HSA Runtime Programmer's Reference
// Manual 1.2, section 2.6; ROCr's hsa.h, hsa_ext_amd.h and amd_aql_pm4_ib. Field for field the same
// as the rows of core/packets/aql.inc, which a test checks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppel::abi {

enum AqlPacketType : uint16_t {
  HSA_PACKET_TYPE_VENDOR_SPECIFIC = 0,
  HSA_PACKET_TYPE_INVALID = 1,
  HSA_PACKET_TYPE_KERNEL_DISPATCH = 2,
  HSA_PACKET_TYPE_BARRIER_AND = 3,
  HSA_PACKET_TYPE_AGENT_DISPATCH = 4,
  HSA_PACKET_TYPE_BARRIER_OR = 5,
};

enum AqlFenceScope : uint16_t {
  HSA_FENCE_SCOPE_NONE = 0,
  HSA_FENCE_SCOPE_AGENT = 1,
  HSA_FENCE_SCOPE_SYSTEM = 2,
};

/// Bit positions in the 16-bit header.
enum AqlHeaderBit : uint16_t {
  HSA_PACKET_HEADER_TYPE = 0,
  HSA_PACKET_HEADER_BARRIER = 8,
  HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE = 9,
  HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE = 11,
};

/// Formats of AMD's vendor-specific packets.
enum AmdPacketFormat : uint8_t {
  HSA_AMD_PACKET_TYPE_PM4_IB = 1,
  HSA_AMD_PACKET_TYPE_BARRIER_VALUE = 2,
};

constexpr uint16_t aql_header(AqlPacketType type, bool barrier, AqlFenceScope acquire,
                              AqlFenceScope release) {
  return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE |
                               static_cast<unsigned>(barrier) << HSA_PACKET_HEADER_BARRIER |
                               acquire << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               release << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}
constexpr AqlPacketType aql_packet_type(uint16_t header) {
  return static_cast<AqlPacketType>(header & 0xff);
}

/// hsa_kernel_dispatch_packet_t.
struct alignas(64) KernelDispatchPacket {
  uint16_t header;
  uint16_t setup;  // dimensions in bits 1..0
  uint16_t workgroup_size_x;
  uint16_t workgroup_size_y;
  uint16_t workgroup_size_z;
  uint16_t reserved0;
  uint32_t grid_size_x;  // work-items
  uint32_t grid_size_y;
  uint32_t grid_size_z;
  uint32_t private_segment_size;  // bytes a work-item
  uint32_t group_segment_size;    // bytes a workgroup
  uint64_t kernel_object;         // address of the kernel descriptor
  uint64_t kernarg_address;
  uint64_t reserved2;
  uint64_t completion_signal;  // handle; 0 = none
};

/// hsa_barrier_and_packet_t and hsa_barrier_or_packet_t.
struct alignas(64) BarrierPacket {
  uint16_t header;
  uint16_t reserved0;
  uint32_t reserved1;
  uint64_t dep_signal[5];  // handles; 0 = none
  uint64_t reserved2;
  uint64_t completion_signal;
};

/// hsa_agent_dispatch_packet_t.
struct alignas(64) AgentDispatchPacket {
  uint16_t header;
  uint16_t type;
  uint32_t reserved0;
  uint64_t return_address;
  uint64_t arg[4];
  uint64_t reserved2;
  uint64_t completion_signal;
};

/// AMD format 1, amd_aql_pm4_ib: jump into an indirect buffer of PM4.
struct alignas(64) VendorPm4IbPacket {
  uint16_t header;
  uint16_t ven_hdr;         // HSA_AMD_PACKET_TYPE_PM4_IB
  uint32_t ib_jump_cmd[4];  // an INDIRECT_BUFFER packet
  uint32_t dw_cnt_remain;   // dwords that follow, 10
  uint32_t reserved[8];
  uint64_t completion_signal;
};

/// AMD format 2, hsa_amd_barrier_value_packet_t: wait until (signal value & mask) compares with
/// value.
struct alignas(64) VendorBarrierValuePacket {
  uint16_t header;
  uint8_t amd_format;  // HSA_AMD_PACKET_TYPE_BARRIER_VALUE
  uint8_t reserved;
  uint32_t reserved0;
  uint64_t signal;
  int64_t value;
  int64_t mask;
  uint32_t cond;  // hsa_signal_condition_t: 0 EQ, 1 NE, 2 LT, 3 GTE
  uint32_t reserved1;
  uint64_t reserved2;
  uint64_t reserved3;
  uint64_t completion_signal;
};

inline constexpr size_t kAqlPacketBytes = 64;
static_assert(sizeof(KernelDispatchPacket) == kAqlPacketBytes);
static_assert(offsetof(KernelDispatchPacket, grid_size_x) == 12);
static_assert(offsetof(KernelDispatchPacket, kernel_object) == 32);
static_assert(offsetof(KernelDispatchPacket, kernarg_address) == 40);
static_assert(offsetof(KernelDispatchPacket, completion_signal) == 56);
static_assert(sizeof(BarrierPacket) == kAqlPacketBytes);
static_assert(offsetof(BarrierPacket, dep_signal) == 8);
static_assert(offsetof(BarrierPacket, completion_signal) == 56);
static_assert(sizeof(AgentDispatchPacket) == kAqlPacketBytes);
static_assert(offsetof(AgentDispatchPacket, return_address) == 8);
static_assert(sizeof(VendorPm4IbPacket) == kAqlPacketBytes);
static_assert(offsetof(VendorPm4IbPacket, ib_jump_cmd) == 4);
static_assert(offsetof(VendorPm4IbPacket, completion_signal) == 56);
static_assert(sizeof(VendorBarrierValuePacket) == kAqlPacketBytes);
static_assert(offsetof(VendorBarrierValuePacket, signal) == 8);
static_assert(offsetof(VendorBarrierValuePacket, cond) == 32);
static_assert(offsetof(VendorBarrierValuePacket, completion_signal) == 56);

}  // namespace doppel::abi
