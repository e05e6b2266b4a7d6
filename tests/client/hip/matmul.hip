// Multiplies matrices, tile by tile through LDS, and compares with the host's product.
#include <vector>

#include "check.h"

constexpr int kTile = 16;
constexpr int kSize = 96;

__global__ void matmul(const float* a, const float* b, float* c) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < kSize; tile += kTile) {
    left[threadIdx.y][threadIdx.x] = a[row * kSize + tile + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * kSize + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

int main() {
  // Small integers: every sum is exact, in whatever order.
  std::vector<float> a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
  for (int i = 0; i < kSize * kSize; ++i) {
    a[i] = static_cast<float>(i % 17 - 8);
    b[i] = static_cast<float>(i % 13 - 6);
  }
  const size_t bytes = c.size() * sizeof(float);
  float *x = nullptr, *y = nullptr, *z = nullptr;
  CHECK(hipMalloc(&x, bytes));
  CHECK(hipMalloc(&y, bytes));
  CHECK(hipMalloc(&z, bytes));
  CHECK(hipMemcpy(x, a.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(y, b.data(), bytes, hipMemcpyHostToDevice));
  matmul<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile)>>>(x, y, z);
  CHECK(hipMemcpy(c.data(), z, bytes, hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      float sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
      wrong += c[row * kSize + column] != sum;
    }
  }
  return finish(wrong);
}
