// A graph captured from a stream and one built node by node, instantiated and launched again and
// again.
#include <vector>

#include "check.h"

constexpr int kCount = 8192;

__global__ void scale(float* values, float factor) {
  values[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}
__global__ void offset(float* values, float amount) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += amount;
}

int main() {
  const size_t bytes = kCount * sizeof(float);
  std::vector<float> in(kCount, 1.0f), out(kCount);
  float* values = nullptr;
  CHECK(hipMalloc(&values, bytes));
  CHECK(hipMemcpy(values, in.data(), bytes, hipMemcpyHostToDevice));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));

  // Captured: x -> 2x + 1.
  hipGraph_t captured;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  scale<<<kCount / 256, 256, 0, stream>>>(values, 2.0f);
  offset<<<kCount / 256, 256, 0, stream>>>(values, 1.0f);
  CHECK(hipStreamEndCapture(stream, &captured));
  size_t nodes = 0;
  CHECK(hipGraphGetNodes(captured, nullptr, &nodes));
  hipGraphExec_t replay;
  CHECK(hipGraphInstantiate(&replay, captured, nullptr, nullptr, 0));
  for (int i = 0; i < 4; ++i) CHECK(hipGraphLaunch(replay, stream));
  CHECK(hipStreamSynchronize(stream));

  // Built: x -> x * 0.5, then back to the host.
  hipGraph_t built;
  CHECK(hipGraphCreate(&built, 0));
  float factor = 0.5f;
  void* arguments[] = {&values, &factor};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.gridDim = dim3(kCount / 256);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  hipGraphNode_t first, second;
  CHECK(hipGraphAddKernelNode(&first, built, nullptr, 0, &kernel));
  CHECK(hipGraphAddMemcpyNode1D(&second, built, &first, 1, out.data(), values, bytes,
                                hipMemcpyDeviceToHost));
  hipGraphExec_t back;
  CHECK(hipGraphInstantiate(&back, built, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(back, stream));
  CHECK(hipStreamSynchronize(stream));

  float expected = 1.0f;
  for (int i = 0; i < 4; ++i) expected = 2.0f * expected + 1.0f;
  expected *= 0.5f;
  long wrong = nodes != 2;
  for (float value : out) wrong += value != expected;
  return finish(wrong);
}
