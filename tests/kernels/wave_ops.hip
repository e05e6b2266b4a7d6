// Cross-lane operations: ballot, readlane, bpermute, DPP, and reductions over a wave.
#include "device.h"

KERNEL void wave_ops(const int *in, int *out, uint count) {
  uint i = global_id();
  int v = in[i < count ? i : count - 1];
  uint lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  int rotated = __builtin_amdgcn_ds_bpermute(((lane + 1) & 31) * 4, v);
  int quad = __builtin_amdgcn_update_dpp(0, v, 0x1b, 0xf, 0xf, false);       // quad_perm [3,2,1,0]
  int row = __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, true);        // row_shr:1
  int first = __builtin_amdgcn_readfirstlane(v);
  int third = __builtin_amdgcn_readlane(v, 3);
  int swizzled = __builtin_amdgcn_ds_swizzle(v, 0x041f);                     // swap neighbours
  int across = __builtin_amdgcn_permlanex16(v, v, 0x76543210, 0xfedcba98, true, false);
  if (i < count) {
    out[i * 8 + 0] = rotated;
    out[i * 8 + 1] = quad;
    out[i * 8 + 2] = row;
    out[i * 8 + 3] = first;
    out[i * 8 + 4] = third;
    out[i * 8 + 5] = swizzled;
    out[i * 8 + 6] = across;
    out[i * 8 + 7] = (int)lane;
  }
}

// out[wave] = sum over the wave's lanes, by a DPP and permlane tree.
KERNEL void wave_sum(const int *in, int *out, uint count) {
  uint i = global_id();
  int v = i < count ? in[i] : 0;
  v += __builtin_amdgcn_update_dpp(0, v, 0xb1, 0xf, 0xf, false);   // quad_perm [1,0,3,2]
  v += __builtin_amdgcn_update_dpp(0, v, 0x4e, 0xf, 0xf, false);   // quad_perm [2,3,0,1]
  v += __builtin_amdgcn_update_dpp(0, v, 0x141, 0xf, 0xf, false);  // row_half_mirror
  v += __builtin_amdgcn_update_dpp(0, v, 0x140, 0xf, 0xf, false);  // row_mirror
  v += __builtin_amdgcn_permlanex16(v, v, 0x76543210, 0xfedcba98, false, false);
  if ((local_id() & 31) == 0) out[i / 32] = v;
}
