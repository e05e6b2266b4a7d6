#include "emulator/stall_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/simulator_impl.h"

namespace doppel::emu {
namespace {

/// The host byte behind a GPU address: the same memory may have several addresses.
const std::byte* host_byte(const GpuVm& vm, uint64_t address) {
  const Mapping* mapping = vm.find(address);
  return mapping ? mapping->host + (address - mapping->va) : nullptr;
}

bool reaches(const PendingWrite& write, const GpuVm& writer, const BlockedOn& wait) {
  const std::byte* written = host_byte(writer, write.address);
  return std::ranges::any_of(wait.words, [&](uint64_t word) {
    const std::byte* wanted = host_byte(*wait.vm, word);
    return wanted && written && wanted >= written && wanted < written + write.size;
  });
}

class StallReport {
 public:
  explicit StallReport(Simulator::Impl& simulator) {
    for (auto& gpu : simulator.gpus) {
      for (auto& [id, queue] : gpu->impl().queues) {
        nodes_.push_back({queue.get(), queue->blocked_on(), queue->pending_writes(), {}, false});
      }
    }
  }

  std::string text() {
    for (size_t waiter = 0; waiter < nodes_.size(); ++waiter) {
      if (nodes_[waiter].wait) explain(waiter);
    }
    for (size_t start = 0; start < nodes_.size(); ++start) find_circle(start);
    return std::move(text_);
  }

 private:
  struct Node {
    HardwareQueue* queue;
    std::optional<BlockedOn> wait;
    std::vector<PendingWrite> writes;
    std::vector<size_t> writers;  // nodes that could end the wait
    bool in_circle;               // already reported
  };

  void explain(size_t waiter) {
    Node& node = nodes_[waiter];
    auto out = std::back_inserter(text_);
    fmt::format_to(out, "{}: {}\n", node.queue->name(), node.wait->reason);
    if (node.wait->words.empty()) return;
    for (size_t writer = 0; writer < nodes_.size(); ++writer) {
      for (const PendingWrite& write : nodes_[writer].writes) {
        if (!reaches(write, *nodes_[writer].queue->config().vm, *node.wait)) continue;
        fmt::format_to(out, "  {} would write it{}: {}\n", nodes_[writer].queue->name(),
                       standing(nodes_[writer]), write.packet);
        node.writers.push_back(writer);
      }
    }
    if (node.writers.empty()) {
      text_ += "  no queued packet writes it: the host must, or a kernel, or nobody will\n";
    }
  }

  static std::string_view standing(const Node& node) {
    if (node.queue->faulted()) return ", but has faulted";
    return node.wait ? ", but waits itself" : "";
  }

  /// Follows first writers from `start`; reports the circle that it leads into.
  void find_circle(size_t start) {
    std::vector<size_t> path;
    size_t at = start;
    while (std::ranges::find(path, at) == path.end()) {
      path.push_back(at);
      if (nodes_[at].writers.empty() || nodes_[at].in_circle) return;
      at = nodes_[at].writers.front();
    }
    path.erase(path.begin(), std::ranges::find(path, at));
    text_ += "deadlock: ";
    for (size_t node : path) {
      nodes_[node].in_circle = true;
      fmt::format_to(std::back_inserter(text_), "queue {} -> ", nodes_[node].queue->config().id);
    }
    fmt::format_to(std::back_inserter(text_), "queue {}\n", nodes_[at].queue->config().id);
  }

  std::vector<Node> nodes_;
  std::string text_;
};

}  // namespace

std::string stall_report(Simulator::Impl& simulator) {
  return StallReport(simulator).text();
}

}  // namespace doppel::emu
