// The kernels of graph_demo. Fused multiply-adds are explicit, so that the CPU can repeat every
// operation bit for bit.

#define KERNEL __kernel __attribute__((reqd_work_group_size(256, 1, 1)))

static inline uint global_id(void) {
  return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}

// y = alpha * x + y
KERNEL void saxpy(__global const float *x, __global float *y, float alpha, uint count) {
  uint i = global_id();
  if (i < count) y[i] = __builtin_fmaf(alpha, x[i], y[i]);
}

// out = a quarter of the left, half of the middle and a quarter of the right neighbour
KERNEL void blur(__global const float *in, __global float *out, uint count) {
  uint i = global_id();
  if (i >= count) return;
  float left = in[i == 0 ? 0 : i - 1], right = in[i + 1 == count ? i : i + 1];
  out[i] = __builtin_fmaf(0.25f, left + right, 0.5f * in[i]);
}

// sums[workgroup] = sum of its 256 elements, a tree in LDS
KERNEL void block_sums(__global const float *in, __global float *sums, uint count) {
  __local float tile[256];
  uint lane = __builtin_amdgcn_workitem_id_x(), i = global_id();
  tile[lane] = i < count ? in[i] : 0.0f;
  for (uint step = 128; step > 0; step /= 2) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (lane < step) tile[lane] += tile[lane + step];
  }
  if (lane == 0) sums[__builtin_amdgcn_workgroup_id_x()] = tile[0];
}
