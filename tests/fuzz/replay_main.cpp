// Runs a fuzz target without libFuzzer: every seed, then mutations of the seeds from a fixed Prng.
// A target that finds something aborts, having printed which input it was.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/assert.h"
#include "core/prng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

std::vector<Input> read_seeds(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry);
  std::ranges::sort(paths);
  std::vector<Input> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

/// Flips, overwrites, cuts, repeats or splices; one to four times.
Input mutate(const std::vector<Input>& seeds, doppel::Prng& prng) {
  Input input = seeds[prng.below(seeds.size())];
  for (uint64_t rounds = 1 + prng.below(4); rounds > 0 && !input.empty(); --rounds) {
    const size_t at = prng.below(input.size());
    switch (prng.below(5)) {
      case 0:
        input[at] ^= static_cast<uint8_t>(1u << prng.below(8));
        break;
      case 1:
        input[at] = static_cast<uint8_t>(prng.next());
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + prng.below(8),
                     static_cast<uint8_t>(prng.next()));
        break;
      case 4: {
        const Input& other = seeds[prng.below(seeds.size())];
        if (other.empty()) break;
        const size_t from = prng.below(other.size());
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
        break;
      }
    }
  }
  return input;
}

/// For the assertion's report: which input was being run.
std::string describe_input(void* user) {
  return "fuzz input " + std::to_string(*static_cast<uint64_t*>(user));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  const std::vector<Input> seeds = read_seeds(argv[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "The corpus has no seeds (%s).\n", argv[1]);
    return 2;
  }
  constexpr uint64_t kMutations = 20000;
  uint64_t run = 0;
  doppel::set_assert_context(describe_input, &run);
  for (const Input& seed : seeds) {
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    ++run;
  }
  doppel::Prng prng(1);
  for (uint64_t i = 0; i < kMutations; ++i, ++run) {
    const Input input = mutate(seeds, prng);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu seeds and %llu mutations\n", seeds.size(),
              static_cast<unsigned long long>(kMutations));
  return 0;
}
