// Run: what emulated GPUs did, as data for reports: when each packet, kernel and host call ran,
// which work there was and what ordered it, and the counters of each kernel. Made by a RunRecorder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/verify/finding.h"
#include "emulator/profile/kernel_profile.h"

namespace doppel::report {

/// Whoever does something by itself: the host (always number 0), or a hardware queue.
struct Actor {
  std::string name;   // "host", "queue 3 (pm4, gpu 0)"
  std::string group;  // "host", "gpu 0 (gfx1100)"
};
inline constexpr uint32_t kHost = 0;

enum class SpanKind : uint8_t {
  Packet,
  Wait,  // a packet that had to wait
  Kernel,
  HostCall,
};
std::string_view to_string(SpanKind kind);

/// Something that took time.
struct Span {
  SpanKind kind = SpanKind::Packet;
  uint32_t actor = kHost;
  uint32_t track = 0;  // 0: packets, host calls; from 1 on: kernels, those at once side by side
  uint64_t begin_ns = 0, end_ns = 0;
  std::string name;    // "RELEASE_MEM", "saxpy", "CREATE_QUEUE"
  std::string detail;  // "at dword 40 of the ring"
};

/// A store that ended somebody's wait.
struct Arrow {
  uint32_t from = 0, to = 0;  // actors
  uint64_t from_ns = 0, to_ns = 0;
  std::string text;
};

enum class NodeKind : uint8_t { Submission, Kernel, Transfer };
std::string_view to_string(NodeKind kind);

/// A piece of work: what the host submits at once, a dispatch, or a packet that writes more than a
/// signal.
struct Node {
  NodeKind kind = NodeKind::Kernel;
  uint32_t actor = kHost;
  std::string name;
  std::string place;  // of the packet: "at dword 40 of the ring"
  std::string detail;
  uint64_t begin_ns = 0, end_ns = 0;
};

/// Why one piece of work begins after another.
enum class EdgeKind : uint8_t {
  Submission,  // submitted by the host
  Queue,       // the queue itself goes on only then
  Signal,      // a wait for a word that the other's queue stores
};
std::string_view to_string(EdgeKind kind);

struct Edge {
  uint32_t from = 0, to = 0;  // nodes
  EdgeKind kind = EdgeKind::Queue;
  std::string how;  // the packets that do it
};

/// All launches of one kernel.
struct KernelCounters {
  std::string name;
  std::string target;
  uint64_t program = 0;  // GPU address of its first instruction
  uint64_t launches = 0;
  uint64_t workgroups = 0;
  uint64_t busy_ns = 0;
  std::unique_ptr<profile::KernelProfile> profile;  // nullptr: not counted
};

struct Run {
  std::string title;
  std::vector<Actor> actors;
  std::vector<Span> spans;
  std::vector<Arrow> arrows;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<KernelCounters> kernels;
  std::vector<verify::Finding> findings;
  std::vector<std::string> faults;
  std::vector<std::string> stalls;  // who waits for what when nothing can go on
  bool checked = false;             // findings were looked for
  uint64_t left_out = 0;            // spans and nodes beyond what a report holds

  /// The actor called so; kHost if there is none.
  uint32_t actor_named(std::string_view name) const;
};

}  // namespace doppel::report
