// Adds two vectors on the GPU and checks every element.
#include <vector>

#include "check.h"

__global__ void vector_add(const float* a, const float* b, float* c, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) c[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 100000;
  std::vector<float> a(kCount), b(kCount), c(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(2 * i);
  }
  float *x = nullptr, *y = nullptr, *z = nullptr;
  const size_t bytes = kCount * sizeof(float);
  CHECK(hipMalloc(&x, bytes));
  CHECK(hipMalloc(&y, bytes));
  CHECK(hipMalloc(&z, bytes));
  CHECK(hipMemcpy(x, a.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(y, b.data(), bytes, hipMemcpyHostToDevice));
  vector_add<<<(kCount + 255) / 256, 256>>>(x, y, z, kCount);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(c.data(), z, bytes, hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += c[i] != static_cast<float>(3 * i);
  return finish(wrong);
}
