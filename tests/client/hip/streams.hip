// Streams that depend on one another through events, a callback on the host, and event times.
#include <atomic>
#include <vector>

#include "check.h"

constexpr int kCount = 4096;
constexpr int kStreams = 4;

__global__ void add(int* values, int amount) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += amount;
}
__global__ void sum(const int* a, const int* b, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] += a[i] + b[i];
}

void called(hipStream_t, hipError_t, void* count) {
  ++*static_cast<std::atomic<int>*>(count);
}

int main() {
  const size_t bytes = kCount * sizeof(int);
  hipStream_t streams[kStreams];
  hipEvent_t done[kStreams];
  int* values[kStreams];
  int* total = nullptr;
  CHECK(hipMalloc(&total, bytes));
  CHECK(hipMemset(total, 0, bytes));
  for (int i = 0; i < kStreams; ++i) {
    CHECK(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    CHECK(hipEventCreate(&done[i]));
    CHECK(hipMalloc(&values[i], bytes));
  }
  CHECK(hipDeviceSynchronize());
  hipEvent_t begin;
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventRecord(begin, streams[0]));
  for (int i = 0; i < kStreams; ++i) {
    CHECK(hipMemsetAsync(values[i], 0, bytes, streams[i]));
    for (int round = 0; round <= i; ++round)
      add<<<kCount / 256, 256, 0, streams[i]>>>(values[i], 10 * i + 1);
    CHECK(hipEventRecord(done[i], streams[i]));
  }
  // The last stream waits for all others.
  hipStream_t last = streams[kStreams - 1];
  for (int i = 0; i < kStreams; ++i) CHECK(hipStreamWaitEvent(last, done[i], 0));
  sum<<<kCount / 256, 256, 0, last>>>(values[0], values[1], total);
  sum<<<kCount / 256, 256, 0, last>>>(values[2], values[3], total);
  std::atomic<int> calls{0};
  CHECK(hipStreamAddCallback(last, called, &calls, 0));
  hipEvent_t end;
  CHECK(hipEventCreate(&end));
  CHECK(hipEventRecord(end, last));
  CHECK(hipStreamSynchronize(last));
  std::vector<int> got(kCount);
  CHECK(hipMemcpy(got.data(), total, bytes, hipMemcpyDeviceToHost));
  int expected = 0;
  for (int i = 0; i < kStreams; ++i) expected += (i + 1) * (10 * i + 1);
  long wrong = calls != 1;
  for (int value : got) wrong += value != expected;
  float milliseconds = -1;
  CHECK(hipEventSynchronize(end));
  CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  wrong += !(milliseconds > 0);
  wrong += hipEventQuery(end) != hipSuccess;
  return finish(wrong);
}
