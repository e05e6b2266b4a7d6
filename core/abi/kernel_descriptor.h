// KernelDescriptor: the 64 bytes that an AQL packet's kernel_object points to and that the loader
// reads. Source: LLVM "User Guide for AMDGPU Backend", section "Kernel Descriptor", and
// ROCr's amd_hsa_kernel_code.h. The bits of rsrc1..3 are the rows COMPUTE_PGM_RSRC1..3 of
// core/packets/regs_compute.inc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppel::abi {

/// Bytes per unit of COMPUTE_PGM_RSRC2.LDS_SIZE (GRANULATED_LDS_SIZE) on all supported targets.
inline constexpr uint32_t kLdsGranule = 512;

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

/// The legacy kernel object (amd_kernel_code_t, code object V2), which ROCr's built-in copy shaders
/// still are. What the packet processor reads is where a KernelDescriptor has it.
struct alignas(64) AmdKernelCode {
  uint32_t amd_kernel_code_version_major;  // 1
  uint32_t amd_kernel_code_version_minor;
  uint16_t amd_machine_kind;
  uint16_t amd_machine_version_major;
  uint16_t amd_machine_version_minor;
  uint16_t amd_machine_version_stepping;
  int64_t kernel_code_entry_byte_offset;
  int64_t kernel_code_prefetch_byte_offset;
  uint64_t kernel_code_prefetch_byte_size;
  uint64_t max_scratch_backing_memory_byte_size;
  uint32_t compute_pgm_rsrc1;
  uint32_t compute_pgm_rsrc2;
  uint32_t kernel_code_properties;
  uint32_t workitem_private_segment_byte_size;
  uint32_t workgroup_group_segment_byte_size;
  uint32_t gds_segment_byte_size;
  uint64_t kernarg_segment_byte_size;
  uint32_t workgroup_fbarrier_count;
  uint16_t wavefront_sgpr_count;
  uint16_t workitem_vgpr_count;
  uint16_t reserved_vgpr_first;
  uint16_t reserved_vgpr_count;
  uint16_t reserved_sgpr_first;
  uint16_t reserved_sgpr_count;
  uint16_t debug_wavefront_private_segment_offset_sgpr;
  uint16_t debug_private_segment_buffer_sgpr;
  uint8_t kernarg_segment_alignment;  // log2
  uint8_t group_segment_alignment;
  uint8_t private_segment_alignment;
  uint8_t wavefront_size;  // log2
  int32_t call_convention;
  uint8_t reserved1[12];
  uint64_t runtime_loader_kernel_symbol;
  uint64_t control_directives[16];
};

static_assert(sizeof(AmdKernelCode) == 256);
static_assert(offsetof(AmdKernelCode, kernel_code_entry_byte_offset) == 16);
static_assert(offsetof(AmdKernelCode, compute_pgm_rsrc1) == 48);
static_assert(offsetof(AmdKernelCode, compute_pgm_rsrc2) == 52);
static_assert(offsetof(AmdKernelCode, kernel_code_properties) == 56);
static_assert(offsetof(AmdKernelCode, kernarg_segment_byte_size) == 72);
static_assert(offsetof(AmdKernelCode, kernarg_segment_alignment) == 100);
static_assert(offsetof(AmdKernelCode, runtime_loader_kernel_symbol) == 120);

}  // namespace doppel::abi
