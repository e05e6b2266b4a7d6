// Kernels of the graph tests: integer arithmetic with exact results, and one that reports the
// launch it sees.
#include "device.h"

// out[i] = in[i] * factor + addend; in and out are the same memory or don't overlap.
KERNEL void affine(GLOBAL const uint *in, GLOBAL uint *out, uint factor, uint addend, uint count) {
  uint i = global_id();
  if (i < count) out[i] = in[i] * factor + addend;
}

// sum[i] += in[i] * 3
KERNEL void accumulate(GLOBAL const uint *in, GLOBAL uint *sum, uint count) {
  uint i = global_id();
  if (i < count) sum[i] += in[i] * 3;
}

// Workgroup size, work-items of the grid, and how many work-items ran.
KERNEL void report_launch(GLOBAL uint *out, GLOBAL uint *ran) {
  if (global_id() == 0) {
    out[0] = group_size();
    out[1] = group_size_y();
    out[2] = grid_size();
  }
  __scoped_atomic_fetch_add(ran, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// Reads the high end of a private array through a dynamic index: needs scratch memory.
KERNEL void through_scratch(GLOBAL const uint *in, GLOBAL uint *out, uint count) {
  uint i = global_id();
  if (i >= count) return;
  volatile uint values[32];
  for (uint k = 0; k < 32; ++k) values[(k + i) & 31] = in[i] + k;
  out[i] = values[in[i] & 31];
}
