// y[i] = alpha * x[i] + y[i] in a grid-stride loop.
#include "device.h"

KERNEL void saxpy(GLOBAL const float *x, GLOBAL float *y, float alpha, uint count) {
  for (uint i = global_id(); i < count; i += grid_size()) y[i] = alpha * x[i] + y[i];
}
