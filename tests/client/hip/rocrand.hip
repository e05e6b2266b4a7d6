// rocRAND's host API: Philox 4x32-10 gives the sequence of Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3" (SC11): the key is the seed, the counter goes up by one every four numbers.
#include <rocrand/rocrand.h>

#include <array>
#include <vector>

#include "check.h"

#define CHECK_RAND(call)                                             \
  do {                                                               \
    const rocrand_status rand_status = (call);                       \
    if (rand_status != ROCRAND_STATUS_SUCCESS) {                     \
      std::printf("%s: status %d\n", #call, int(rand_status));       \
      std::exit(1);                                                  \
    }                                                                \
  } while (false)

using Block = std::array<unsigned, 4>;

Block philox(unsigned long long seed, unsigned long long index) {
  unsigned key[2] = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  Block x = {static_cast<unsigned>(index), static_cast<unsigned>(index >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    const auto a = 0xd2511f53ull * x[0];
    const auto b = 0xcd9e8d57ull * x[2];
    x = {static_cast<unsigned>(b >> 32) ^ x[1] ^ key[0], static_cast<unsigned>(b),
         static_cast<unsigned>(a >> 32) ^ x[3] ^ key[1], static_cast<unsigned>(a)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return x;
}

long check_integers(rocrand_generator generator, unsigned long long seed) {
  constexpr size_t kCount = 20000;
  unsigned* device = nullptr;
  CHECK(hipMalloc(&device, kCount * sizeof(unsigned)));
  CHECK_RAND(rocrand_set_seed(generator, seed));
  CHECK_RAND(rocrand_generate(generator, device, kCount));
  std::vector<unsigned> got(kCount);
  CHECK(hipMemcpy(got.data(), device, kCount * sizeof(unsigned), hipMemcpyDeviceToHost));
  long wrong = 0;
  for (size_t i = 0; i < kCount; ++i) wrong += got[i] != philox(seed, i / 4)[i % 4];
  return wrong;
}

long check_uniform(rocrand_generator generator, unsigned long long seed) {
  constexpr size_t kCount = 4000;
  constexpr float kStep = 2.3283064e-10f;  // 2^-32: uniform on (0, 1]
  float* device = nullptr;
  CHECK(hipMalloc(&device, kCount * sizeof(float)));
  CHECK_RAND(rocrand_set_seed(generator, seed));
  CHECK_RAND(rocrand_generate_uniform(generator, device, kCount));
  std::vector<float> got(kCount);
  CHECK(hipMemcpy(got.data(), device, kCount * sizeof(float), hipMemcpyDeviceToHost));
  long wrong = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double exact = (philox(seed, i / 4)[i % 4] + 1.0) * kStep;
    wrong += !(got[i] > 0 && got[i] <= 1 && std::abs(got[i] - exact) < 1e-7);
  }
  return wrong;
}

int main() {
  // The paper's own known answer.
  long wrong = philox(0, 0) != Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  rocrand_generator generator;
  CHECK_RAND(rocrand_create_generator(&generator, ROCRAND_RNG_PSEUDO_PHILOX4_32_10));
  wrong += check_integers(generator, 0);
  wrong += check_integers(generator, 0x123456789abcdefull);
  wrong += check_uniform(generator, 77);
  CHECK_RAND(rocrand_destroy_generator(generator));
  return finish(wrong);
}
