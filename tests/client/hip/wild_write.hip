// A kernel that writes far beyond its buffer. What must follow is the runtime's memory fault.
#include "check.h"

__global__ void wild_write(int* values, long distance) {
  values[threadIdx.x] = 1;
  if (threadIdx.x == 7) values[distance] = 2;
}

int main() {
  int* values = nullptr;
  CHECK(hipMalloc(&values, 4096));
  wild_write<<<1, 32>>>(values, 1l << 34);
  CHECK(hipDeviceSynchronize());
  std::printf("the fault went unnoticed\n");
  return 0;
}
