// y = 2 x + y on a GPU, emulated ("mock:gfx1100") or real ("kfd:0"): saxpy DEVICE CODE_OBJECT
#include <cstdio>
#include <filesystem>
#include <vector>

#include "backends/open_device.h"

using namespace doppel;

Result<std::vector<float>> saxpy(const char* device, const std::filesystem::path& code_object) {
  constexpr uint32_t kCount = 1000;
  DOPPEL_ASSIGN(const auto gpu, open_device(device));
  DOPPEL_ASSIGN(const Program program, gpu->load_program(code_object));
  DOPPEL_ASSIGN(const Signal done, gpu->create_signal());
  DOPPEL_ASSIGN(const Allocation x, gpu->allocate(kCount * sizeof(float)));
  DOPPEL_ASSIGN(const Allocation y, gpu->allocate(kCount * sizeof(float)));
  DOPPEL_TRY(gpu->write(x, std::vector<float>(kCount, 3)));
  DOPPEL_TRY(gpu->write(y, std::vector<float>(kCount, 1)));
  DOPPEL_TRY(gpu->compute()
                 .exec(program.kernel("saxpy"), args(x, y, 2.0f, kCount), WorkItems(kCount), 256)
                 .signal(done, 1)
                 .submit());
  DOPPEL_TRY(done.wait(1));
  return gpu->read<float>(y);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: saxpy DEVICE CODE_OBJECT\n");
    return 2;
  }
  const auto y = saxpy(argv[1], argv[2]);
  if (!y) std::fprintf(stderr, "%s\n", y.error().to_string().c_str());
  if (y) std::printf("y[0] = %g, y[999] = %g\n", y->front(), y->back());
  return y ? 0 : 1;
}
