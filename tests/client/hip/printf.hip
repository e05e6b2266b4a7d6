// printf in a kernel: its text comes back to the host by hostcall.
#include "check.h"

__global__ void greet(int base) {
  printf("work-item %d says %s %.2f\n", static_cast<int>(threadIdx.x), "hello", base + 0.25);
}

int main() {
  greet<<<1, 4>>>(3);
  CHECK(hipDeviceSynchronize());
  return finish(0);
}
