// Private memory: an array indexed at run time, and recursion through a stack. The runtime has to
// give the queue scratch memory on demand, first little, then more.
#include <vector>

#include "check.h"

constexpr int kThreads = 128;
constexpr int kBlocks = 8;

__global__ void permute(const int* order, int* out) {
  int values[64];
  for (int i = 0; i < 64; ++i) values[order[i]] = i * static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += values[i] * order[63 - i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void permute_more(const int* order, int* out, int rounds) {
  int values[1024];
  for (int i = 0; i < 1024; ++i) values[i] = i;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 64; ++i) {
      const int at = order[i] * 16 + static_cast<int>(threadIdx.x) % 16;
      values[at] += values[(at * 7 + round) % 1024];
    }
  }
  int sum = 0;
  for (int i = 0; i < 1024; ++i) sum += values[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int expected(const int* order, int thread) {
  int values[64];
  for (int i = 0; i < 64; ++i) values[order[i]] = i * thread;
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += values[i] * order[63 - i];
  return sum;
}

int expected_more(const int* order, int thread, int rounds) {
  std::vector<int> values(1024);
  for (int i = 0; i < 1024; ++i) values[i] = i;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 64; ++i) {
      const int at = order[i] * 16 + thread % 16;
      values[at] += values[(at * 7 + round) % 1024];
    }
  }
  int sum = 0;
  for (int value : values) sum += value;
  return sum;
}

int main() {
  constexpr int kRounds = 3;
  int order[64];
  for (int i = 0; i < 64; ++i) order[i] = i * 37 % 64;
  int *device_order = nullptr, *out = nullptr, *out_more = nullptr;
  constexpr size_t kBytes = kThreads * kBlocks * sizeof(int);
  CHECK(hipMalloc(&device_order, sizeof order));
  CHECK(hipMalloc(&out, kBytes));
  CHECK(hipMalloc(&out_more, kBytes));
  CHECK(hipMemcpy(device_order, order, sizeof order, hipMemcpyHostToDevice));
  permute<<<kBlocks, kThreads>>>(device_order, out);
  permute_more<<<kBlocks, kThreads>>>(device_order, out_more, kRounds);
  std::vector<int> got(kThreads * kBlocks), got_more(kThreads * kBlocks);
  CHECK(hipMemcpy(got.data(), out, kBytes, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(got_more.data(), out_more, kBytes, hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int i = 0; i < kThreads * kBlocks; ++i) {
    wrong += got[i] != expected(order, i % kThreads);
    wrong += got_more[i] != expected_more(order, i % kThreads, kRounds);
  }
  return finish(wrong);
}
