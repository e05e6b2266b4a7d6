// Two streams that work on the same values. With the argument "ordered" the second waits for the
// first, as it should; without it nothing makes it. A gate sees to it that the first has not ended
// by chance when the second's work is submitted.
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kCount = 4096;

__global__ void wait_for(const volatile int* gate) {
  while (*gate == 0) {
  }
}
__global__ void produce(int* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] = 7;
}
__global__ void consume(const int* values, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = values[i] + 1;
}

int main(int argc, char** argv) {
  const bool ordered = argc > 1 && std::strcmp(argv[1], "ordered") == 0;
  const size_t bytes = kCount * sizeof(int);
  hipStream_t first, second;
  hipEvent_t produced;
  int *values = nullptr, *out = nullptr, *gate = nullptr;
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  CHECK(hipEventCreate(&produced));
  CHECK(hipMalloc(&values, bytes));
  CHECK(hipMalloc(&out, bytes));
  CHECK(hipHostMalloc(&gate, sizeof(int), hipHostMallocCoherent));
  *gate = 0;
  CHECK(hipDeviceSynchronize());
  wait_for<<<1, 1, 0, first>>>(gate);
  produce<<<kCount / 256, 256, 0, first>>>(values);
  CHECK(hipEventRecord(produced, first));
  if (ordered) CHECK(hipStreamWaitEvent(second, produced, 0));
  consume<<<kCount / 256, 256, 0, second>>>(values, out);
  *static_cast<volatile int*>(gate) = 1;
  CHECK(hipDeviceSynchronize());
  std::printf("ordered: %d\n", ordered);
  return 0;
}
