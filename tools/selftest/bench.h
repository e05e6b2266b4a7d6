// Bench: what the steps of a selftest share. A step finds what earlier ones left, and leaves its
// own. Members are destroyed in reverse order: queues before devices, devices before the process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/kfd_device.h"
#include "backends/kfd/kfd_process.h"
#include "core/device.h"
#include "tools/selftest/selftest.h"

namespace doppel::selftest {

struct Bench {
  std::shared_ptr<kfd::KernelAbi> kernel;
  uint32_t gpu_index = 0;

  std::shared_ptr<kfd::KfdProcess> process = {};
  const kfd::TopologyNode* node = nullptr;  // of process->topology()
  std::shared_ptr<kfd::KfdMemory> memory = {};
  std::vector<std::unique_ptr<kfd::KfdDevice>> devices = {};  // the one under test first
  std::optional<Program> program = {};

  Device& gpu() const { return *devices.front(); }
};

/// A step that passed, or has nothing to try.
struct Done {
  std::string detail;
  bool applicable = true;
};
inline Done not_applicable(std::string why) {
  return {std::move(why), false};
}

struct Step {
  std::string_view name;
  std::string_view title;
  std::vector<std::string_view> needs;  // names of earlier steps
  std::function<Result<Done>(Bench&)> run;
};

/// How long a step waits for the device; of the driver's clock.
inline constexpr WaitOptions kPatience{.timeout = std::chrono::seconds(5)};

/// A step's own finding: what it read is not what should be there.
std::unexpected<Status> wrong(std::string message);

void add_driver_steps(std::vector<Step>& steps);
void add_memory_steps(std::vector<Step>& steps);
void add_queue_steps(std::vector<Step>& steps);
void add_graph_steps(std::vector<Step>& steps);
std::vector<Step> all_steps();

}  // namespace doppel::selftest
