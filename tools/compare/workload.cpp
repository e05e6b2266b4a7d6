#include "tools/compare/workload.h"

#include <numeric>

namespace doppel::compare {
namespace {

constexpr uint32_t kCount = 4096;
constexpr uint32_t kBytes = kCount * 4;
constexpr uint32_t kWorkgroup = 64;

/// Makes the buffers and the nodes of one workload.
class Builder {
 public:
  Builder(Device& device, const Program& program) : device_(device), program_(program) {}

  Result<MemoryView> buffer(std::string name, MemoryDomain domain) {
    DOPPEL_ASSIGN(Allocation memory, device_.allocate(kBytes, {.domain = domain}));
    const MemoryView view = memory;
    if (const auto words = memory.host_as<uint32_t>(); !words.empty()) {
      std::iota(words.begin(), words.end(), 1u);
    }
    prepared_.buffers.push_back({std::move(name), std::move(memory)});
    return view;
  }
  GraphNode copy(const MemoryView& from, const MemoryView& to, std::string name) {
    return prepared_.graph.copy(from, to, {.name = std::move(name)});
  }
  GraphNode scale(const MemoryView& out, const MemoryView& in, uint32_t factor, std::string name) {
    return prepared_.graph.kernel(program_.kernel("scale_add"), args(out, in, factor, uint32_t{7}),
                                  kCount / kWorkgroup, kWorkgroup, {.name = std::move(name)});
  }
  GraphNode fill(const MemoryView& out, uint32_t pattern, std::string name) {
    return prepared_.graph.fill(out, pattern, {.name = std::move(name)});
  }
  Prepared finish(GraphNode variable) {
    prepared_.variable = variable;
    return std::move(prepared_);
  }

 private:
  Device& device_;
  const Program& program_;
  Prepared prepared_;
};

Result<Prepared> pipeline(Device& device, const Program& program) {
  Builder build(device, program);
  DOPPEL_ASSIGN(const auto in, build.buffer("in", MemoryDomain::Gtt));
  DOPPEL_ASSIGN(const auto x, build.buffer("x", MemoryDomain::Vram));
  DOPPEL_ASSIGN(const auto y, build.buffer("y", MemoryDomain::Vram));
  DOPPEL_ASSIGN(const auto out, build.buffer("out", MemoryDomain::Gtt));
  build.copy(in, x, "upload");
  const GraphNode first = build.scale(y, x, 3, "scale");
  build.scale(x, y, 5, "scale again");
  build.copy(x, out, "download");
  return build.finish(first);
}

Result<Prepared> diamond(Device& device, const Program& program) {
  Builder build(device, program);
  DOPPEL_ASSIGN(const auto in, build.buffer("in", MemoryDomain::Gtt));
  DOPPEL_ASSIGN(const auto x, build.buffer("x", MemoryDomain::Vram));
  DOPPEL_ASSIGN(const auto left, build.buffer("left", MemoryDomain::Gtt));
  DOPPEL_ASSIGN(const auto right, build.buffer("right", MemoryDomain::Gtt));
  build.copy(in, x, "upload");
  const GraphNode first = build.scale(left, x, 2, "left");
  build.copy(x, right, "right");
  build.scale(x, left, 9, "join");
  build.copy(x, right, "download");
  return build.finish(first);
}

Result<Prepared> transfer(Device& device, const Program& program) {
  Builder build(device, program);
  DOPPEL_ASSIGN(const auto in, build.buffer("in", MemoryDomain::Gtt));
  DOPPEL_ASSIGN(const auto x, build.buffer("x", MemoryDomain::Vram));
  DOPPEL_ASSIGN(const auto y, build.buffer("y", MemoryDomain::Vram));
  DOPPEL_ASSIGN(const auto out, build.buffer("out", MemoryDomain::Gtt));
  DOPPEL_ASSIGN(const auto filled, build.buffer("filled", MemoryDomain::Gtt));
  build.fill(filled, 0x5eed5eed, "fill");
  build.copy(in, x, "upload");
  build.copy(x, y, "across");
  const GraphNode last = build.scale(out, y, 1, "touch");
  return build.finish(last);
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      {"pipeline", "copy, two kernels, copy back", pipeline},
      {"diamond", "a kernel and a copy side by side, joined by a kernel", diamond},
      {"transfer", "fill and copies between domains", transfer},
  };
  return all;
}

}  // namespace doppel::compare
