// GraphWorld: fake devices with the test kernels loaded and buffers allocated, always at the same
// addresses: two worlds that are used alike hold the same bytes.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/graph.h"
#include "tests/core/graph/fake_device.h"
#include "tests/paths.h"

namespace doppel::test {

struct WorldOptions {
  uint32_t devices = 1;
  uint32_t buffers_each = 4;  // of kWords words
  std::string_view target = "gfx1100";
  std::string_view program = "graph_kernels";  // the stem of its file
};

class GraphWorld {
 public:
  static constexpr uint32_t kWords = 1024;

  explicit GraphWorld(const WorldOptions& options = {}) {
    for (uint32_t d = 0; d < options.devices; ++d) {
      devices.emplace_back(memory, fmt::format("fake:{}", d), options.target);
      auto program = devices[d].load_program(
          kernel_file(fmt::format("{}.{}.co", options.program, options.target)));
      EXPECT_TRUE(program) << program.error().to_string();
      programs.push_back(*std::move(program));
      for (uint32_t b = 0; b < options.buffers_each; ++b)
        buffers.push_back(*devices[d].allocate(kWords * sizeof(uint32_t), {}));
    }
  }

  std::vector<Device*> all() {
    std::vector<Device*> pointers;
    for (FakeDevice& device : devices) pointers.push_back(&device);
    return pointers;
  }
  Result<Kernel> kernel(std::string_view name, uint32_t device = 0) const {
    return programs[device].kernel(name);
  }
  MemoryView slice(uint32_t buffer, uint64_t offset, uint64_t bytes) const {
    return *buffers[buffer].slice(offset, bytes);
  }

  FakeMemory memory;
  std::deque<FakeDevice> devices;
  std::vector<Program> programs;    // by device
  std::vector<Allocation> buffers;  // device by device
};

}  // namespace doppel::test
