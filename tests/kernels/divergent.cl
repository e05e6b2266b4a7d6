// Control flow that differs from lane to lane: nested ifs, loops with lane-dependent counts, early
// exits, a switch.
#include "device.h"

KERNEL void collatz(GLOBAL const uint *in, GLOBAL uint *steps, uint count) {
  uint i = global_id();
  if (i >= count) return;
  uint n = in[i], taken = 0;
  while (n > 1 && taken < 1000) {
    n = (n & 1) ? 3 * n + 1 : n / 2;
    ++taken;
  }
  steps[i] = taken;
}

KERNEL void branches(GLOBAL const int *in, GLOBAL int *out, uint count) {
  uint i = global_id();
  if (i >= count) return;
  int v = in[i], r = 0;
  switch (v & 7) {
    case 0: r = v * 3; break;
    case 1: r = v - 17; break;
    case 2: for (int k = 0; k < (v & 63); ++k) r += k * v; break;
    case 3: r = v > 1000 ? v / 3 : v % 5; break;
    case 4: if (v & 8) { r = ~v; if (v & 16) r ^= 0x55; } break;
    default: r = -v; break;
  }
  out[i] = r;
}
