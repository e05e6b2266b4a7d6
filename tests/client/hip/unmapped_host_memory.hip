// The program registers host memory, gives it back to the system, and lets a kernel use it.
#include <sys/mman.h>

#include "check.h"

__global__ void increment(unsigned* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main() {
  constexpr size_t kBytes = 1 << 20;
  void* host =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned* device = nullptr;
  CHECK(hipHostRegister(host, kBytes, hipHostRegisterDefault));
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0));
  increment<<<kBytes / 4 / 256, 256>>>(device);
  CHECK(hipDeviceSynchronize());
  std::printf("first value: %u\n", *static_cast<unsigned*>(host));
  std::fflush(stdout);
  munmap(host, kBytes);
  increment<<<kBytes / 4 / 256, 256>>>(device);
  CHECK(hipDeviceSynchronize());
  std::printf("the loss went unnoticed\n");
  return 0;
}
