// Trial: one workload run on one machine, with all that another run of it must agree with: memory,
// signals, packet streams; and the timings, which need not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/kfd/kfd_device.h"
#include "core/packets/row.h"
#include "core/status.h"
#include "core/target.h"
#include "tools/compare/allocation_watch.h"
#include "tools/compare/workload.h"

namespace doppel::compare {

struct Trial {
  struct Buffer {
    std::string name;
    std::vector<std::byte> content;
  };
  /// What one queue was given for a launch; addresses are canonical (AllocationWatch).
  struct Stream {
    std::string queue;  // "pm4", "sdma"
    packets::Language language = packets::Language::Pm4;
    GfxFamily family = GfxFamily::Gfx11;
    std::vector<uint32_t> dwords;
    std::vector<std::pair<uint64_t, std::string>> names;  // of the canonical addresses in it
  };
  struct Node {
    std::string name;
    double start_ns = 0;  // since the first node of the launch began
    double duration_ns = 0;
  };
  struct SignalValue {
    std::string name;
    int64_t value = 0;
  };

  std::string machine;
  std::string gpu;  // "gfx1100, AMD Radeon RX 7900 XTX, kfd 1.14, ..."
  const Target* target = nullptr;
  std::vector<Buffer> buffers;
  std::vector<SignalValue> signals;
  std::vector<Stream> streams;
  std::vector<Node> nodes;

  /// "x+0x40" for a canonical address of that stream, or "".
  static std::string name_in(const Stream& stream, uint64_t address);
};

/// A machine with one GPU open for trials. A process has one address space on a GPU of the driver,
/// so that all trials on it share this.
class TrialMachine {
 public:
  /// The `gpu`th GPU of "kfd" or "mock:...".
  static Result<TrialMachine> open(std::string_view name, uint32_t gpu = 0);

  /// Runs the workload twice, the second time with another argument.
  Result<Trial> run(const Workload& workload, GraphExecutor executor = GraphExecutor::Pm4Sdma);

 private:
  Result<> run_graph(Prepared& prepared, GraphExecutor executor, Trial& trial);

  std::string name_;
  std::shared_ptr<AllocationWatch> watch_;
  std::unique_ptr<kfd::KfdDevice> gpu_;
};

}  // namespace doppel::compare
