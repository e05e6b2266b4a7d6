// Two streams that work on the same values. With the argument "ordered" the second waits for the
// first, as it should; without it nothing makes it.
#include <cstring>
#include <vector>

#include "check.h"

constexpr int kCount = 4096;

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
  int *values = nullptr, *out = nullptr;
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  CHECK(hipEventCreate(&produced));
  CHECK(hipMalloc(&values, bytes));
  CHECK(hipMalloc(&out, bytes));
  CHECK(hipDeviceSynchronize());
  produce<<<kCount / 256, 256, 0, first>>>(values);
  CHECK(hipEventRecord(produced, first));
  if (ordered) CHECK(hipStreamWaitEvent(second, produced, 0));
  consume<<<kCount / 256, 256, 0, second>>>(values, out);
  CHECK(hipDeviceSynchronize());
  std::printf("ordered: %d\n", ordered);
  return 0;
}
