// Kernels that do wrong on purpose: each must fault its own queue, precisely, and nothing else.
#include "device.h"

// Lane `bad_lane` of the grid stores to `where`, an address of the caller's choice.
KERNEL void store_at(GLOBAL uint *out, ulong where, uint bad_lane) {
  uint i = global_id();
  if (i == bad_lane) *(GLOBAL volatile uint *)where = i;
  out[i] = i;
}

KERNEL void load_at(GLOBAL uint *out, ulong where) {
  out[global_id()] = *(GLOBAL volatile const uint *)where;
}

// Never ends unless another agent writes a non-zero word to `flag`.
KERNEL void spin_until(GLOBAL volatile uint *flag) {
  while (*flag == 0) {
  }
}

// An encoding that no target defines.
KERNEL void illegal_instruction(void) { __asm__ volatile(".long 0xffffffff"); }

KERNEL void trap(void) { __builtin_trap(); }
