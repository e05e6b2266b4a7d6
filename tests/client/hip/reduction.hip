// Sums a vector: a tree in LDS within each workgroup, then another launch over the partial sums.
#include <vector>

#include "check.h"

constexpr int kThreads = 256;

__global__ void reduce(const unsigned* in, unsigned* out, int count) {
  __shared__ unsigned partial[kThreads];
  unsigned sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

/// The same within a wave, by exchange between lanes.
__global__ void reduce_by_shuffle(const unsigned* in, unsigned* out) {
  unsigned sum = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = warpSize / 2; step > 0; step /= 2) sum += __shfl_down(sum, step);
  if (threadIdx.x % warpSize == 0) atomicAdd(out, sum);
}

int main() {
  constexpr int kCount = 1 << 16;
  constexpr int kBlocks = 32;
  std::vector<unsigned> values(kCount);
  unsigned expected = 0;
  for (int i = 0; i < kCount; ++i) expected += values[i] = static_cast<unsigned>(i) * 2654435761u;
  unsigned *in = nullptr, *partial = nullptr, *out = nullptr;
  CHECK(hipMalloc(&in, kCount * sizeof(unsigned)));
  CHECK(hipMalloc(&partial, kBlocks * sizeof(unsigned)));
  CHECK(hipMalloc(&out, 2 * sizeof(unsigned)));
  CHECK(hipMemcpy(in, values.data(), kCount * sizeof(unsigned), hipMemcpyHostToDevice));
  CHECK(hipMemset(out, 0, 2 * sizeof(unsigned)));
  reduce<<<kBlocks, kThreads>>>(in, partial, kCount);
  reduce<<<1, kThreads>>>(partial, out, kBlocks);
  reduce_by_shuffle<<<kCount / kThreads, kThreads>>>(in, out + 1);
  unsigned sums[2] = {};
  CHECK(hipMemcpy(sums, out, sizeof sums, hipMemcpyDeviceToHost));
  return finish((sums[0] != expected) + (sums[1] != expected));
}
