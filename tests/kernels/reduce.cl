// Sums of 256-work-item blocks through LDS; one partial sum a workgroup.
#include "device.h"

#define BLOCK 256

__attribute__((reqd_work_group_size(BLOCK, 1, 1)))
KERNEL void reduce_sum(GLOBAL const int *in, GLOBAL int *partial, uint count) {
  SHARED int tile[BLOCK];
  uint lane = local_id();
  int sum = 0;
  for (uint i = group_id() * BLOCK + lane; i < count; i += grid_size()) sum += in[i];
  tile[lane] = sum;
  workgroup_barrier();
  for (uint step = BLOCK / 2; step > 0; step /= 2) {
    if (lane < step) tile[lane] += tile[lane + step];
    workgroup_barrier();
  }
  if (lane == 0) partial[group_id()] = tile[0];
}
