// KernelDescriptor: the 64 bytes that an AQL packet's kernel_object points to and that the loader
// reads. Source: LLVM "User Guide for AMDGPU Backend", section "Kernel Descriptor".
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppel::abi {

struct KernelDescriptor {
  uint32_t group_segment_fixed_size;      // static LDS, bytes
  uint32_t private_segment_fixed_size;    // scratch, bytes a work-item
  uint32_t kernarg_size;                  // bytes
  uint32_t reserved0;                     // 0
  int64_t kernel_code_entry_byte_offset;  // first instruction, from the descriptor's address
  uint8_t reserved1[20];                  // 0
  uint32_t compute_pgm_rsrc3;
  uint32_t compute_pgm_rsrc1;
  uint32_t compute_pgm_rsrc2;
  uint16_t kernel_code_properties;  // KernelCodeProperty bits
  uint16_t kernarg_preload;
  uint32_t reserved2;  // 0
};
static_assert(sizeof(KernelDescriptor) == 64);
static_assert(offsetof(KernelDescriptor, kernel_code_entry_byte_offset) == 16);
static_assert(offsetof(KernelDescriptor, compute_pgm_rsrc3) == 44);
static_assert(offsetof(KernelDescriptor, compute_pgm_rsrc1) == 48);
static_assert(offsetof(KernelDescriptor, kernel_code_properties) == 56);

/// Which user SGPRs the kernel expects, in this order, and the wave size.
enum KernelCodeProperty : uint16_t {
  ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER = 1 << 0,  // 4 SGPRs
  ENABLE_SGPR_DISPATCH_PTR = 1 << 1,            // 2
  ENABLE_SGPR_QUEUE_PTR = 1 << 2,               // 2
  ENABLE_SGPR_KERNARG_SEGMENT_PTR = 1 << 3,     // 2
  ENABLE_SGPR_DISPATCH_ID = 1 << 4,             // 2
  ENABLE_SGPR_FLAT_SCRATCH_INIT = 1 << 5,       // 2
  ENABLE_SGPR_PRIVATE_SEGMENT_SIZE = 1 << 6,    // 1
  ENABLE_WAVEFRONT_SIZE32 = 1 << 10,
  USES_DYNAMIC_STACK = 1 << 11,
};

}  // namespace doppel::abi
