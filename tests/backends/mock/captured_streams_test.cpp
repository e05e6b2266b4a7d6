// Replays the ioctls of captured client runs: what their driver accepted, this one accepts, with
// addresses, handles and GPU ids translated.
#include <sys/ioctl.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/backends/mock/kernel_fixture.h"
#include "tests/paths.h"

namespace doppel::mock::testing {
namespace {

/// "ioctl NR size SIZE in DWORDS... out DWORDS... [gpus IDS...] rc RC"; numbers are hexadecimal,
/// ids decimal.
struct CapturedIoctl {
  uint32_t number = 0;
  uint32_t size = 0;
  std::vector<uint32_t> in;
  std::vector<uint32_t> out;
  std::vector<uint32_t> gpus;
  int result = 0;
};

CapturedIoctl parse(const std::string& line) {
  CapturedIoctl captured;
  std::istringstream words(line);
  std::string word;
  std::string section;
  while (words >> word) {
    if (word == "ioctl" || word == "size" || word == "in" || word == "out" || word == "gpus" ||
        word == "rc") {
      section = word;
    } else if (section == "ioctl") {
      captured.number = static_cast<uint32_t>(std::stoul(word, nullptr, 16));
    } else if (section == "size") {
      captured.size = static_cast<uint32_t>(std::stoul(word, nullptr, 16));
    } else if (section == "gpus") {
      captured.gpus.push_back(static_cast<uint32_t>(std::stoul(word)));
    } else if (section == "rc") {
      captured.result = std::stoi(word);
    } else {
      (section == "in" ? captured.in : captured.out)
          .push_back(static_cast<uint32_t>(std::stoul(word, nullptr, 16)));
    }
  }
  return captured;
}

/// Carries a captured client's calls out on a machine of ours.
class Replay {
 public:
  explicit Replay(Client& client) : client_(client) {}
  ~Replay() {
    for (const auto& [address, size] : user_memory_) munmap(address, size);
  }

  void run(const CapturedIoctl& captured) {
    std::vector<uint32_t> words = captured.in;
    words.resize(64);
    std::vector<uint32_t> gpus;
    for (uint32_t id : captured.gpus) gpus.push_back(gpu(id));
    translate(captured, words, gpus);
    const unsigned long request =
        _IOC(_IOC_READ | _IOC_WRITE, AMDKFD_IOCTL_BASE, captured.number, captured.size);
    const int result = client_.kernel->ioctl(client_.kfd, request, words.data());
    EXPECT_EQ(result, captured.result) << VirtualKfd::ioctl_name(captured.number);
    learn(captured, words);
  }

  size_t calls = 0;

 private:
  uint32_t gpu(uint32_t captured_id) {
    if (!gpus_.contains(captured_id)) {
      const size_t index = gpus_.size();
      gpus_[captured_id] = index;
    }
    return client_.gpu(gpus_[captured_id]);
  }
  static uint64_t pair(const std::vector<uint32_t>& words, size_t at) {
    return words[at] | uint64_t{words[at + 1]} << 32;
  }
  static void put(std::vector<uint32_t>& words, size_t at, uint64_t value) {
    words[at] = static_cast<uint32_t>(value);
    words[at + 1] = static_cast<uint32_t>(value >> 32);
  }
  uint64_t user_memory(uint64_t size) {
    void* memory =
        mmap(nullptr, page_align(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    user_memory_.emplace_back(memory, page_align(size));
    return reinterpret_cast<uint64_t>(memory);
  }

  void translate(const CapturedIoctl& captured, std::vector<uint32_t>& words,
                 const std::vector<uint32_t>& gpus) {
    ++calls;
    switch (captured.number) {
      case 0x02:  // CREATE_QUEUE
        words[9] = gpu(captured.in[9]);
        break;
      case 0x08:  // CREATE_EVENT
        if (captured.in[0] != 0) put(words, 0, handles_.at(pair(captured.in, 0)));
        break;
      case 0x15: {  // ACQUIRE_VM
        words[1] = gpu(captured.in[1]);
        words[0] = static_cast<uint32_t>(client_.render.at(gpus_[captured.in[1]]));
        break;
      }
      case 0x16:  // ALLOC_MEMORY_OF_GPU
        words[8] = gpu(captured.in[8]);
        if (captured.in[9] & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)
          put(words, 6, user_memory(pair(captured.in, 2)));
        break;
      case 0x17:  // FREE_MEMORY_OF_GPU
        put(words, 0, handles_.at(pair(captured.in, 0)));
        break;
      case 0x18:  // MAP_MEMORY_TO_GPU, UNMAP_MEMORY_FROM_GPU
      case 0x19:
        put(words, 0, handles_.at(pair(captured.in, 0)));
        put(words, 2, reinterpret_cast<uint64_t>(gpus.data()));
        break;
    }
  }

  void learn(const CapturedIoctl& captured, const std::vector<uint32_t>& words) {
    if (captured.number == 0x16) {
      handles_[pair(captured.out, 4)] = pair(words, 4);
      EXPECT_EQ(pair(words, 6) % kPageBytes, 0u) << "mmap offset";
    }
    if (captured.number == 0x18 || captured.number == 0x19) {
      EXPECT_EQ(words[5], captured.out[5]) << "n_success";
    }
    if (captured.number == 0x01) {
      EXPECT_EQ(words[0], captured.out[0]);
      EXPECT_EQ(words[1], captured.out[1]);
    }
    if (captured.number == 0x08 && captured.in[3] == KFD_IOC_EVENT_SIGNAL) {
      EXPECT_EQ(words[6], words[7]) << "the slot of an event is its id";
    }
  }

  Client& client_;
  std::map<uint32_t, size_t> gpus_;
  std::map<uint64_t, uint64_t> handles_;
  std::vector<std::pair<void*, uint64_t>> user_memory_;
};

class CapturedStreams : public ::testing::TestWithParam<const char*> {};

TEST_P(CapturedStreams, AreAccepted) {
  const std::filesystem::path path = test::shared_dir() / "streams" / GetParam();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no captured streams at " << path;
  Client client("mock:gfx1100,count=2");
  Replay replay(client);
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("ioctl ")) replay.run(parse(line));
  EXPECT_GT(replay.calls, 200u);
  EXPECT_EQ(client.kernel->usage().queues, 4u);
}

INSTANTIATE_TEST_SUITE_P(Tinygrad, CapturedStreams,
                         ::testing::Values("tinygrad-2024-07-gfx1100.txt",
                                           "tinygrad-2026-08-gfx1100.txt"),
                         [](const auto& info) { return "Run" + std::to_string(info.index); });

}  // namespace
}  // namespace doppel::mock::testing
