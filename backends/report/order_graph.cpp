#include "backends/report/order_graph.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "emulator/verify/address_book.h"

namespace doppel::report {
namespace {

using emu::AccessMode;
using verify::AddressBook;
using verify::SyncWords;

constexpr uint64_t kSignalBytes = 8;  // writes up to this size may be signals
constexpr size_t kMaxStores = 64;     // of one word that are remembered

uint64_t word_at(uint64_t host) {
  return *reinterpret_cast<const uint64_t*>(SyncWords::word_of(host));
}

bool writes(const emu::MemoryAccess& access) {
  return access.mode == AccessMode::Write || access.mode == AccessMode::Atomic;
}

}  // namespace

void OrderGraph::add_queue(uint32_t id, uint32_t actor, bool in_order) {
  QueueState state;
  state.actor = actor;
  state.in_order = in_order;
  queues_.insert_or_assign(id, std::move(state));
}

void OrderGraph::submit(const emu::QueueRef& ref, uint64_t end, uint64_t now_ns) {
  ++submissions_;
  QueueState host;  // nothing is before what the host does
  Node node{.kind = NodeKind::Submission,
            .actor = kHost,
            .name = fmt::format("submission {}", submissions_),
            .place = {},
            .detail = fmt::format("submits to {}, up to dword {}", ref.name, end),
            .begin_ns = now_ns,
            .end_ns = now_ns};
  queues_[ref.config.id].submissions.push_back({end, add_node(host, std::move(node)), false});
}

void OrderGraph::begin_packet(const emu::PacketEvent& event) {
  QueueState& queue = queues_[event.queue.config.id];
  queue.vm = event.queue.config.vm;
  auto& submissions = queue.submissions;
  while (!submissions.empty() && submissions.front().end <= event.place.ring_position) {
    submissions.pop_front();
  }
  queue.packet_name = event.packet.name();
  queue.place = event.place.to_string();
  queue.packet = fmt::format("{} {}", queue.packet_name, queue.place);
  queue.sync = verify::packet_sync(event.packet);
  queue.entered = false;
  queue.transfer.reset();
  queue.transfer_bytes = 0;
}

/// The packet goes to work: what it has waited for is behind it.
void OrderGraph::enter(QueueState& queue, uint64_t now_ns) {
  if (std::exchange(queue.entered, true)) return;
  // Of several words that each would do, which one did is not known.
  const bool known = !queue.sync.any_wait || queue.sync.wait_count == 1;
  if (known) {
    for (const emu::MemoryWait& wait : queue.sync.wait_words()) pass_wait(queue, wait, now_ns);
  }
  if (!queue.sync.joins_pipe || queue.open.empty()) return;
  queue.before.clear();
  for (const uint32_t node : std::exchange(queue.open, {})) {
    queue.before.push_back(
        {node, EdgeKind::Queue, fmt::format("{} waits for the kernels before it", queue.packet)});
  }
}

/// The wait rests on the earliest store since which the word has satisfied it.
void OrderGraph::pass_wait(QueueState& queue, const emu::MemoryWait& wait, uint64_t now_ns) {
  const uint64_t host = AddressBook::host_of(*queue.vm, wait.va);
  const auto known = stores_.find(SyncWords::word_of(host));
  if (host == 0 || known == stores_.end()) return;
  const verify::WordCondition condition{host,         wait.reference, wait.mask,
                                        wait.compare, wait.is_64,     wait.is_signed};
  const Store* store = nullptr;
  for (auto at = known->second.rbegin(); at != known->second.rend(); ++at) {
    if (!condition.holds(at->value)) break;
    store = &*at;
  }
  if (store == nullptr) return;
  const std::string how = fmt::format("{} of {} stores to {:#x}; {} waits for it", store->packet,
                                      run_.actors[store->actor].name, wait.va, queue.packet);
  for (const uint32_t node : store->after) queue.before.push_back({node, EdgeKind::Signal, how});
  if (run_.arrows.size() < kMaxNodes) {
    run_.arrows.push_back({store->actor, queue.actor, store->at_ns, now_ns, how});
  }
}

std::optional<uint32_t> OrderGraph::add_node(QueueState& queue, Node node) {
  if (run_.nodes.size() == kMaxNodes) {
    ++run_.left_out;
    return std::nullopt;
  }
  const auto number = static_cast<uint32_t>(run_.nodes.size());
  run_.nodes.push_back(std::move(node));
  std::vector<uint32_t> seen;
  for (const Before& before : queue.before) {
    if (std::ranges::find(seen, before.node) != seen.end()) continue;
    seen.push_back(before.node);
    run_.edges.push_back({before.node, number, before.kind, before.how});
  }
  if (queue.submissions.empty()) return number;
  // Later work of a submission needs no second reason if it has one.
  Submission& submission = queue.submissions.front();
  const bool first = !std::exchange(submission.followed, true);
  if (submission.node && (first || seen.empty())) {
    run_.edges.push_back({*submission.node, number, EdgeKind::Submission,
                          "the host " + run_.nodes[*submission.node].detail});
  }
  return number;
}

/// The latest work of the queue that is done when all its kernels are.
std::vector<uint32_t> OrderGraph::latest(const QueueState& queue) {
  std::vector<uint32_t> nodes = queue.open;
  for (const Before& before : queue.before) {
    if (queue.open.empty() && std::ranges::find(nodes, before.node) == nodes.end()) {
      nodes.push_back(before.node);
    }
  }
  return nodes;
}

void OrderGraph::transfer(QueueState& queue, std::span<const emu::MemoryAccess> accesses,
                          uint64_t now_ns) {
  uint64_t bytes = 0;
  for (const emu::MemoryAccess& access : accesses) {
    if (writes(access) && access.size > kSignalBytes) bytes += access.size;
  }
  if (bytes == 0) return;
  queue.transfer_bytes += bytes;
  if (!queue.transfer) {
    queue.transfer = add_node(queue, {.kind = NodeKind::Transfer,
                                      .actor = queue.actor,
                                      .name = queue.packet_name,
                                      .place = queue.place,
                                      .detail = {},
                                      .begin_ns = now_ns,
                                      .end_ns = now_ns});
    if (!queue.transfer) return;
    queue.before = {{*queue.transfer, EdgeKind::Queue,
                     fmt::format("{} is done before the queue goes on", queue.packet)}};
  }
  Node& node = run_.nodes[*queue.transfer];
  node.detail = fmt::format("{} bytes", queue.transfer_bytes);
  node.end_ns = now_ns;
}

void OrderGraph::publish(const QueueState& queue, std::span<const emu::MemoryAccess> accesses,
                         const std::vector<uint32_t>& after, const std::string& packet,
                         uint64_t now_ns) {
  for (const emu::MemoryAccess& access : accesses) {
    if (!writes(access) || access.size > kSignalBytes) continue;
    const uint64_t host = AddressBook::host_of(*queue.vm, access.va);
    if (host == 0) continue;
    std::deque<Store>& stores = stores_[SyncWords::word_of(host)];
    stores.push_back({word_at(host), after, queue.actor, now_ns, packet});
    if (stores.size() > kMaxStores) stores.pop_front();
  }
}

void OrderGraph::step_packet(const emu::PacketEvent& event,
                             std::span<const emu::MemoryAccess> accesses, uint64_t now_ns) {
  QueueState& queue = queues_[event.queue.config.id];
  enter(queue, now_ns);
  transfer(queue, accesses, now_ns);
  publish(queue, accesses, latest(queue), queue.packet, now_ns);
}

void OrderGraph::launch(const emu::QueueRef& ref, uint64_t tag, std::string name,
                        std::string detail, uint64_t now_ns) {
  QueueState& queue = queues_[ref.config.id];
  enter(queue, now_ns);
  const auto node = add_node(queue, {.kind = NodeKind::Kernel,
                                     .actor = queue.actor,
                                     .name = std::move(name),
                                     .place = queue.place,
                                     .detail = std::move(detail),
                                     .begin_ns = now_ns,
                                     .end_ns = now_ns});
  queue.events[tag] = {node, {}, queue.packet};
  if (node) queue.open.push_back(*node);
}

void OrderGraph::queue_end_of_pipe(const emu::QueueRef& ref, uint64_t tag) {
  QueueState& queue = queues_[ref.config.id];
  queue.events[tag] = {std::nullopt, latest(queue), queue.packet};
}

void OrderGraph::complete(const emu::QueueRef& ref, uint64_t tag,
                          std::span<const emu::MemoryAccess> accesses, uint64_t now_ns) {
  QueueState& queue = queues_[ref.config.id];
  const auto found = queue.events.find(tag);
  if (found == queue.events.end()) return;
  Event event = std::move(found->second);
  queue.events.erase(found);
  if (event.node) {
    run_.nodes[*event.node].end_ns = now_ns;
    event.after = {*event.node};  // an AQL packet's completion signal
  }
  publish(queue, accesses, event.after, event.packet, now_ns);
}

}  // namespace doppel::report
