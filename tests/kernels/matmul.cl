// c = a * b for n x n fp32 matrices (n a multiple of 16), 16x16 tiles in LDS.
#include "device.h"

#define TILE 16

__attribute__((reqd_work_group_size(TILE, TILE, 1)))
KERNEL void matmul(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, uint n) {
  SHARED float tile_a[TILE][TILE];
  SHARED float tile_b[TILE][TILE];
  uint x = local_id(), y = local_id_y();
  uint row = group_id_y() * TILE + y, column = group_id() * TILE + x;
  float sum = 0;
  for (uint k = 0; k < n; k += TILE) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    workgroup_barrier();
    for (uint i = 0; i < TILE; ++i) sum += tile_a[y][i] * tile_b[i][x];
    workgroup_barrier();
  }
  c[row * n + column] = sum;
}
