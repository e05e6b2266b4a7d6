// What device code in the tests and examples needs of a language runtime, from compiler builtins
// alone: no ROCm device library is linked. Serves OpenCL C (.cl) and HIP (.hip) sources.
#pragma once

#ifdef __HIP__
#define KERNEL extern "C" __attribute__((global))
#define DEVICE static __attribute__((device)) inline
#define GLOBAL
#define SHARED __attribute__((shared))
typedef unsigned int uint;
typedef unsigned long ulong;
#else
#define KERNEL __kernel
#define DEVICE static inline
#define GLOBAL __global
#define SHARED __local
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

DEVICE uint local_id(void) {
  return __builtin_amdgcn_workitem_id_x();
}
DEVICE uint local_id_y(void) {
  return __builtin_amdgcn_workitem_id_y();
}
DEVICE uint local_id_z(void) {
  return __builtin_amdgcn_workitem_id_z();
}
DEVICE uint group_id(void) {
  return __builtin_amdgcn_workgroup_id_x();
}
DEVICE uint group_id_y(void) {
  return __builtin_amdgcn_workgroup_id_y();
}
DEVICE uint group_id_z(void) {
  return __builtin_amdgcn_workgroup_id_z();
}

/// Work-items of a full workgroup along x: from the hidden arguments (COV5 and later) or from the
/// dispatch packet (COV4), as the compiler's builtin decides.
DEVICE uint group_size(void) {
  return __builtin_amdgcn_workgroup_size_x();
}
DEVICE uint group_size_y(void) {
  return __builtin_amdgcn_workgroup_size_y();
}
DEVICE uint grid_size(void) {
  return __builtin_amdgcn_grid_size_x();
}
DEVICE uint global_id(void) {
  return group_id() * group_size() + local_id();
}

/// Waits for all work-items of the workgroup; LDS writes before it are visible after it.
DEVICE void workgroup_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
