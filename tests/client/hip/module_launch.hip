// Loads a code object that another compiler made and launches its kernel by name:
// `module_launch FILE`, where FILE has saxpy(const float* x, float* y, float a, uint count). Has no
// device code of its own, so that it runs with any GPU that the file is for.
#include <vector>

#include "check.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  constexpr unsigned kCount = 10000;
  std::vector<float> x(kCount), y(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = static_cast<float>(i % 7);
  }
  const size_t bytes = kCount * sizeof(float);
  void *device_x = nullptr, *device_y = nullptr;
  CHECK(hipMalloc(&device_x, bytes));
  CHECK(hipMalloc(&device_y, bytes));
  CHECK(hipMemcpy(device_x, x.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(device_y, y.data(), bytes, hipMemcpyHostToDevice));
  hipModule_t module;
  hipFunction_t saxpy;
  CHECK(hipModuleLoad(&module, argv[1]));
  CHECK(hipModuleGetFunction(&saxpy, module, "saxpy"));
  float a = 2;
  unsigned count = kCount;
  void* arguments[] = {&device_x, &device_y, &a, &count};
  CHECK(hipModuleLaunchKernel(saxpy, (kCount + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments,
                              nullptr));
  std::vector<float> got(kCount);
  CHECK(hipMemcpy(got.data(), device_y, bytes, hipMemcpyDeviceToHost));
  long wrong = 0;
  for (unsigned i = 0; i < kCount; ++i) wrong += got[i] != y[i] + a * x[i];
  return finish(wrong);
}
