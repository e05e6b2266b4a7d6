#include "emulator/stall_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

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
  return std::ranges::any_of(wait.words, [&](const MemoryWait& word) {
    const std::byte* wanted = host_byte(*wait.vm, word.va);
    return wanted && written && wanted >= written && wanted < written + write.size;
  });
}

/// A queue, stalled or not, and what it still has to write.
struct Node {
  HardwareQueue* queue;
  std::optional<BlockedOn> wait;
  std::vector<PendingWrite> writes;
};

std::vector<Producer> producers_of(const BlockedOn& wait, const std::vector<Node>& nodes) {
  std::vector<Producer> producers;
  for (const Node& node : nodes) {
    for (const PendingWrite& write : node.writes) {
      if (!reaches(write, *node.queue->config().vm, wait)) continue;
      producers.push_back({node.queue->config().id, node.queue->name(), write.packet,
                           node.queue->faulted(), node.wait.has_value()});
    }
  }
  return producers;
}

std::string_view standing(const Producer& producer) {
  if (producer.faulted) return ", but has faulted";
  return producer.waits ? ", but waits itself" : "";
}

/// Follows first producers from `start` into the circle that they lead to, if any.
std::vector<size_t> circle_from(size_t start, std::span<const Stall> stalls) {
  std::vector<size_t> path;
  size_t at = start;
  while (std::ranges::find(path, at) == path.end()) {
    path.push_back(at);
    if (stalls[at].producers.empty()) return {};
    const auto next =
        std::ranges::find(stalls, stalls[at].producers.front().queue_id, &Stall::queue_id);
    if (next == stalls.end()) return {};
    at = static_cast<size_t>(next - stalls.begin());
  }
  path.erase(path.begin(), std::ranges::find(path, at));
  return path;
}

}  // namespace

std::vector<Stall> stalls(Simulator::Impl& simulator) {
  std::vector<Node> nodes;
  for (auto& gpu : simulator.gpus) {
    for (auto& [id, queue] : gpu->impl().queues) {
      nodes.push_back({queue.get(), queue->blocked_on(), queue->pending_writes()});
    }
  }
  std::vector<Stall> found;
  for (const Node& node : nodes) {
    if (!node.wait) continue;
    found.push_back(
        {node.queue->config().id, node.queue->name(), *node.wait, producers_of(*node.wait, nodes)});
  }
  return found;
}

std::vector<std::vector<size_t>> find_circles(std::span<const Stall> stalls) {
  std::vector<std::vector<size_t>> circles;
  for (size_t start = 0; start < stalls.size(); ++start) {
    std::vector<size_t> circle = circle_from(start, stalls);
    const bool known = std::ranges::any_of(circles, [&](const std::vector<size_t>& other) {
      return !circle.empty() && std::ranges::find(other, circle.front()) != other.end();
    });
    if (!circle.empty() && !known) circles.push_back(std::move(circle));
  }
  return circles;
}

std::string stall_report(std::span<const Stall> stalls) {
  std::string text;
  auto out = std::back_inserter(text);
  for (const Stall& stall : stalls) {
    fmt::format_to(out, "{}: {}\n", stall.queue, stall.wait.reason);
    for (const Producer& producer : stall.producers) {
      fmt::format_to(out, "  {} would write it{}: {}\n", producer.queue, standing(producer),
                     producer.packet);
    }
    if (stall.producers.empty() && !stall.wait.words.empty()) {
      text += "  no queued packet writes it: the host must, or a kernel, or nobody will\n";
    }
  }
  for (const std::vector<size_t>& circle : find_circles(stalls)) {
    text += "deadlock: ";
    for (size_t index : circle) fmt::format_to(out, "queue {} -> ", stalls[index].queue_id);
    fmt::format_to(out, "queue {}\n", stalls[circle.front()].queue_id);
  }
  return text;
}

}  // namespace doppel::emu
