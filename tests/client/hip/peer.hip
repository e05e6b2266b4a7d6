// Two GPUs: copies between them, with and without peer access, and a kernel on one that reads and
// writes the other's memory.
#include <numeric>
#include <vector>

#include "check.h"

constexpr int kCount = 50000;

__global__ void add_from(const int* other, int* mine, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) mine[i] += other[i];
}
__global__ void store(int* other, int value, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) other[i] = value + i;
}

int main() {
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  if (devices < 2) {
    std::printf("needs two devices\n");
    return 1;
  }
  const size_t bytes = kCount * sizeof(int);
  std::vector<int> in(kCount), out(kCount);
  std::iota(in.begin(), in.end(), 5);
  int *first = nullptr, *second = nullptr;
  CHECK(hipSetDevice(0));
  CHECK(hipMalloc(&first, bytes));
  CHECK(hipMemcpy(first, in.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipSetDevice(1));
  CHECK(hipMalloc(&second, bytes));
  CHECK(hipMemcpyPeer(second, 1, first, 0, bytes));
  CHECK(hipMemcpy(out.data(), second, bytes, hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += out[i] != in[i];

  int allowed = 0;
  CHECK(hipDeviceCanAccessPeer(&allowed, 1, 0));
  wrong += allowed != 1;
  CHECK(hipDeviceEnablePeerAccess(0, 0));
  add_from<<<(kCount + 255) / 256, 256>>>(first, second, kCount);
  CHECK(hipDeviceSynchronize());
  store<<<(kCount + 255) / 256, 256>>>(first, 1000, kCount);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(out.data(), second, bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) wrong += out[i] != 2 * in[i];
  CHECK(hipMemcpy(out.data(), first, bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) wrong += out[i] != 1000 + i;
  return finish(wrong);
}
