// out[i] = a[i] + b[i], one work-item an element, with a bounds check.
#include "device.h"

KERNEL void vector_add(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *out, uint count) {
  uint i = global_id();
  if (i < count) out[i] = a[i] + b[i];
}
