// 64-bit integers, double precision, division and square root: the long instruction sequences.
#include "device.h"

KERNEL void integer64(const ulong *a, const ulong *b, ulong *out, uint count) {
  uint i = global_id();
  if (i >= count) return;
  ulong x = a[i], y = b[i];
  out[i * 4 + 0] = x * y;
  out[i * 4 + 1] = x / (y | 1);
  out[i * 4 + 2] = (x << (y & 63)) ^ (x >> (y & 31));
  out[i * 4 + 3] = (ulong)((long)x >> (y & 63)) + y;
}

KERNEL void double_math(const double *a, const double *b, double *out, uint count) {
  uint i = global_id();
  if (i >= count) return;
  out[i * 3 + 0] = a[i] * b[i] + 0.5;
  out[i * 3 + 1] = a[i] / b[i];
  out[i * 3 + 2] = __builtin_sqrt(b[i] * b[i] + a[i] * a[i]);
}

KERNEL void float_division(const float *a, const float *b, float *out, uint count) {
  uint i = global_id();
  if (i < count) out[i] = a[i] / b[i];
}
