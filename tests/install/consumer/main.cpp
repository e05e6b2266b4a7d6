// A user of the installed package: opens the emulated GPU, fills memory by SDMA, reads it back.
#include <cstdio>

#include "backends/open_device.h"

int main() {
  auto gpu = doppel::open_device("mock:gfx1100");
  if (!gpu) {
    std::fprintf(stderr, "%s\n", gpu.error().to_string().c_str());
    return 1;
  }
  std::printf("%s\n", (*gpu)->info().marketing_name.c_str());
  return 0;
}
