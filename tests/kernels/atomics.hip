// Atomics on LDS and global memory: 32 and 64 bits, integer and float, with and without return.
#include "device.h"

template <class T>
DEVICE T fetch_add(T *p, T v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }

// bins[0..63] += histogram of data, gathered per workgroup in LDS first.
KERNEL void histogram(const uint *data, uint *bins, uint count) {
  SHARED uint local_bins[64];
  uint lane = local_id();
  if (lane < 64) local_bins[lane] = 0;
  workgroup_barrier();
  for (uint i = global_id(); i < count; i += grid_size())
    __hip_atomic_fetch_add(&local_bins[data[i] & 63], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  workgroup_barrier();
  if (lane < 64) fetch_add(&bins[lane], local_bins[lane]);
}

// One of each integer operation per work-item, all on shared words: words[0] add, [1] sub, [2] min,
// [3] max, [4] and, [5] or, [6] xor, [7] incremented by compare-and-swap.
KERNEL void integer_atomics(uint *words, uint count) {
  uint i = global_id();
  if (i >= count) return;
  fetch_add(&words[0], i);
  __hip_atomic_fetch_sub(&words[1], i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_min(&words[2], i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(&words[3], i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_and(&words[4], ~(1u << (i & 31)), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_or(&words[5], 1u << (i & 31), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(&words[6], i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  uint seen = __hip_atomic_load(&words[7], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(&words[7], &seen, seen + 1, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
  }
}

// words[0] 64-bit add, words[1] 64-bit max, words[2] 64-bit exchange tally (sum of what was swapped
// out plus what is left = sum of all).
KERNEL void wide_atomics(ulong *words, uint count) {
  uint i = global_id();
  if (i >= count) return;
  fetch_add(&words[0], (ulong)i << 20);
  __hip_atomic_fetch_max(&words[1], (ulong)i << 33, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  ulong out = __hip_atomic_exchange(&words[2], (ulong)i + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  fetch_add(&words[3], out);
}

// sums[0] f32 add of small integers (exact in any order), sums[1] through a returned value.
KERNEL void float_atomics(float *sums, uint count) {
  uint i = global_id();
  if (i >= count) return;
  __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float *)&sums[0], (float)(i & 7));
  float before = __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float *)&sums[1], 1.0f);
  if (before >= (float)count) sums[2] = before;
}
