// Atomic operations on global memory and LDS, of 32 and 64 bits, integers and floats, with and
// without the old value, and a compare-and-swap loop.
#include "check.h"

constexpr int kThreads = 256;
constexpr int kBlocks = 40;
constexpr int kTotal = kThreads * kBlocks;

struct Results {
  unsigned count;
  unsigned bins[16];
  unsigned lds_bins[16];
  unsigned long long wide;
  int lowest;
  int highest;
  unsigned bits;
  unsigned swapped;
  float sum;
  unsigned tickets[kTotal];
};

__global__ void run(Results* results) {
  __shared__ unsigned bins[16];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&results->bins[i % 16], 1u);
  atomicAdd(&bins[i % 16], 1u);
  atomicAdd(&results->wide, 0x100000001ull);
  atomicMin(&results->lowest, static_cast<int>(i) - 1000);
  atomicMax(&results->highest, static_cast<int>(i) - 1000);
  atomicOr(&results->bits, 1u << (i % 32));
  atomicAdd(&results->sum, 0.5f);
  atomicAdd(&results->tickets[atomicAdd(&results->count, 1u)], 1u);
  unsigned seen = results->swapped;
  while (true) {
    const unsigned before = atomicCAS(&results->swapped, seen, seen + 3);
    if (before == seen) break;
    seen = before;
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&results->lds_bins[threadIdx.x], bins[threadIdx.x]);
}

int main() {
  Results* device = nullptr;
  CHECK(hipMalloc(&device, sizeof(Results)));
  CHECK(hipMemset(device, 0, sizeof(Results)));
  run<<<kBlocks, kThreads>>>(device);
  auto* results = static_cast<Results*>(std::malloc(sizeof(Results)));
  CHECK(hipMemcpy(results, device, sizeof(Results), hipMemcpyDeviceToHost));
  long wrong = results->count != kTotal;
  for (int i = 0; i < 16; ++i)
    wrong += (results->bins[i] != kTotal / 16) + (results->lds_bins[i] != kTotal / 16);
  wrong += results->wide != 0x100000001ull * kTotal;
  wrong += results->lowest != -1000;
  wrong += results->highest != kTotal - 1001;
  wrong += results->bits != ~0u;
  wrong += results->swapped != 3u * kTotal;
  wrong += results->sum != 0.5f * kTotal;
  for (unsigned ticket : results->tickets) wrong += ticket != 1;
  return finish(wrong);
}
