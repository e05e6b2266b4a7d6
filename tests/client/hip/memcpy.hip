// hipMemcpy of every kind: pageable and pinned, mapped and registered host memory, synchronous and
// asynchronous, in two dimensions, between devices' buffers, to symbols, and fills.
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"

constexpr size_t kCount = 70001;  // no multiple of anything
constexpr size_t kBytes = kCount * sizeof(unsigned);

__device__ unsigned symbol[1024];

__global__ void increment(unsigned* values, size_t count) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1;
}

long differences(const unsigned* got, unsigned first, size_t count) {
  long wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += got[i] != first + i;
  return wrong;
}

long report(const char* what, long wrong) {
  if (wrong != 0) std::printf("%s: %ld wrong\n", what, wrong);
  return wrong;
}

long pageable_and_device() {
  std::vector<unsigned> in(kCount), out(kCount);
  std::iota(in.begin(), in.end(), 7u);
  unsigned *a = nullptr, *b = nullptr;
  CHECK(hipMalloc(&a, kBytes));
  CHECK(hipMalloc(&b, kBytes));
  CHECK(hipMemcpy(a, in.data(), kBytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(b, a, kBytes, hipMemcpyDeviceToDevice));
  CHECK(hipMemcpy(out.data(), b, kBytes, hipMemcpyDefault));
  return report("pageable", differences(out.data(), 7, kCount));
}

long pinned_async() {
  unsigned *in = nullptr, *out = nullptr, *device = nullptr;
  CHECK(hipHostMalloc(&in, kBytes, hipHostMallocDefault));
  CHECK(hipHostMalloc(&out, kBytes, hipHostMallocDefault));
  CHECK(hipMalloc(&device, kBytes));
  std::iota(in, in + kCount, 9u);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMemcpyAsync(device, in, kBytes, hipMemcpyHostToDevice, stream));
  increment<<<(kCount + 255) / 256, 256, 0, stream>>>(device, kCount);
  CHECK(hipMemcpyAsync(out, device, kBytes, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  return report("pinned, asynchronous", differences(out, 10, kCount));
}

long mapped() {
  unsigned *host = nullptr, *device = nullptr;
  CHECK(hipHostMalloc(&host, kBytes, hipHostMallocMapped));
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0));
  std::iota(host, host + kCount, 11u);
  increment<<<(kCount + 255) / 256, 256>>>(device, kCount);
  CHECK(hipDeviceSynchronize());
  return report("mapped", differences(host, 12, kCount));
}

long registered() {
  std::vector<unsigned> host(kCount);
  std::iota(host.begin(), host.end(), 13u);
  unsigned* device = nullptr;
  CHECK(hipHostRegister(host.data(), kBytes, hipHostRegisterDefault));
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host.data(), 0));
  increment<<<(kCount + 255) / 256, 256>>>(device, kCount);
  CHECK(hipDeviceSynchronize());
  CHECK(hipHostUnregister(host.data()));
  return report("registered", differences(host.data(), 14, kCount));
}

long two_dimensions() {
  constexpr size_t kWidth = 100, kHeight = 50, kPitch = 128;
  std::vector<unsigned> in(kWidth * kHeight), out(kWidth * kHeight);
  std::iota(in.begin(), in.end(), 17u);
  unsigned* device = nullptr;
  size_t pitch = 0;
  CHECK(hipMallocPitch(reinterpret_cast<void**>(&device), &pitch, kWidth * 4, kHeight));
  CHECK(hipMemcpy2D(device, pitch, in.data(), kWidth * 4, kWidth * 4, kHeight,
                    hipMemcpyHostToDevice));
  unsigned* other = nullptr;
  CHECK(hipMalloc(&other, kPitch * 4 * kHeight));
  CHECK(hipMemcpy2D(other, kPitch * 4, device, pitch, kWidth * 4, kHeight,
                    hipMemcpyDeviceToDevice));
  CHECK(hipMemcpy2D(out.data(), kWidth * 4, other, kPitch * 4, kWidth * 4, kHeight,
                    hipMemcpyDeviceToHost));
  return report("two dimensions", differences(out.data(), 17, kWidth * kHeight));
}

long symbols() {
  std::vector<unsigned> in(1024), out(1024);
  std::iota(in.begin(), in.end(), 19u);
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(symbol), in.data(), 4096));
  CHECK(hipMemcpyFromSymbol(out.data(), HIP_SYMBOL(symbol), 4096));
  return report("symbols", differences(out.data(), 19, 1024));
}

long fills() {
  std::vector<unsigned char> out(kCount);
  unsigned char* device = nullptr;
  CHECK(hipMalloc(&device, kCount));
  CHECK(hipMemset(device, 0x5a, kCount));
  CHECK(hipMemset(device + 3, 0xa5, 1000));
  CHECK(hipMemcpy(out.data(), device, kCount, hipMemcpyDeviceToHost));
  long wrong = 0;
  for (size_t i = 0; i < kCount; ++i)
    wrong += out[i] != (i >= 3 && i < 1003 ? 0xa5 : 0x5a);
  std::vector<unsigned> words(1000);
  CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(device), 0x12345678, 1000));
  CHECK(hipMemcpy(words.data(), device, 4000, hipMemcpyDeviceToHost));
  for (unsigned word : words) wrong += word != 0x12345678;
  return report("fills", wrong);
}

int main() {
  return finish(pageable_and_device() + pinned_async() + mapped() + registered() +
                two_dimensions() + symbols() + fills());
}
