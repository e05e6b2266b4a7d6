// Compiled with -mwavefrontsize64: the same reduction and divergence in 64-lane waves.
#include "device.h"

KERNEL void wave64_sum(GLOBAL const int *in, GLOBAL int *out, uint count) {
  SHARED int tile[256];
  uint lane = local_id(), i = global_id();
  tile[lane] = i < count ? in[i] : 0;
  workgroup_barrier();
  for (uint step = group_size() / 2; step > 0; step /= 2) {
    if (lane < step) tile[lane] += tile[lane + step];
    workgroup_barrier();
  }
  if (lane == 0) out[group_id()] = tile[0];
}

KERNEL void wave64_ballot(GLOBAL const int *in, GLOBAL ulong *out, uint count) {
  uint i = global_id();
  ulong mask = __builtin_amdgcn_ballot_w64(i < count && in[i] > 0);
  if ((local_id() & 63) == 0) out[i / 64] = mask;
}
