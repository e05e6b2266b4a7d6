// The kernels of the golden graphs, in assembly: what stands here pins their descriptors, whatever
// compiler builds the rest. They do nothing; graphs are encoded from them, not run.

.macro kernel name, private_bytes, dispatch_ptr
  .text
  .globl \name
  .p2align 8
  .type \name, @function
\name:
  s_endpgm
.L\name\()_end:
  .size \name, .L\name\()_end - \name

  .rodata
  .p2align 6
  .amdhsa_kernel \name
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_dispatch_ptr \dispatch_ptr
    .amdhsa_group_segment_fixed_size 1024
    .amdhsa_private_segment_fixed_size \private_bytes
#ifdef __GFX9__
    .amdhsa_accum_offset 8
#define WAVE_SIZE 64
#else
    .amdhsa_wavefront_size32 1
#define WAVE_SIZE 32
#endif
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
  .end_amdhsa_kernel
.endm

kernel scale, 0, 0
kernel stack, 64, 0
kernel reads_packet, 0, 1

// Each takes (in, out, value).
#define ARGUMENTS                                                             \
  [{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, \
    .actual_access: read_only},                                               \
   {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global, \
    .actual_access: write_only},                                              \
   {.offset: 16, .size: 4, .value_kind: by_value}]
#define METADATA(kernel, private_bytes)                                            \
  {.name: kernel, .symbol: kernel.kd, .args: ARGUMENTS, .kernarg_segment_size: 24, \
   .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,                     \
   .private_segment_fixed_size: private_bytes, .wavefront_size: WAVE_SIZE,         \
   .max_flat_workgroup_size: 1024, .sgpr_count: 16, .vgpr_count: 8}

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - METADATA(scale, 0)
  - METADATA(stack, 64)
  - METADATA(reads_packet, 0)
...
.end_amdgpu_metadata
