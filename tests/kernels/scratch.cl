// Private memory: a dynamically indexed array, and a call tree that needs a stack.
#include "device.h"

// Reverses and rotates 64 values through an array that cannot live in registers.
KERNEL void scratch_dynamic(GLOBAL const uint *in, GLOBAL uint *out, uint shift, uint count) {
  uint i = global_id();
  if (i >= count) return;
  volatile uint values[64];
  for (uint k = 0; k < 64; ++k) values[(k * 7 + i) & 63] = in[i] + k * k;
  uint sum = 0;
  for (uint k = 0; k < 64; ++k) sum = sum * 31 + values[(k + shift + i) & 63];
  out[i] = sum;
}

__attribute__((noinline)) uint fibonacci(uint n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Recursion: the stack grows in scratch, calls go through S_SWAPPC_B64.
KERNEL void scratch_recursive(GLOBAL uint *out, uint count) {
  uint i = global_id();
  if (i < count) out[i] = fibonacci(i % 8);
}
