// Half precision: scalar and packed arithmetic, and conversions both ways.
#include "device.h"

typedef half half2 __attribute__((ext_vector_type(2)));

KERNEL void axpy_f16(GLOBAL const half *x, GLOBAL half *y, float alpha, uint count) {
  uint i = global_id();
  if (i < count) y[i] = (half)alpha * x[i] + y[i];
}

KERNEL void axpy_f16x2(GLOBAL const half2 *x, GLOBAL half2 *y, float alpha, uint count) {
  uint i = global_id();
  if (i < count) y[i] = (half2)((half)alpha) * x[i] + y[i];
}

KERNEL void f16_to_f32(GLOBAL const half *x, GLOBAL float *y, uint count) {
  uint i = global_id();
  if (i < count) y[i] = (float)x[i];
}

KERNEL void f32_to_f16(GLOBAL const float *x, GLOBAL half *y, uint count) {
  uint i = global_id();
  if (i < count) y[i] = (half)x[i];
}
