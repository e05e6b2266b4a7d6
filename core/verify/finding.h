// Finding: one thing a checker found, as data: the rule, both culprits, the bytes, what is missing
// and how to fix it. FindingLog: the findings of a run, each once, with the suppressions that were
// applied.
//
// A log belongs to one machine and is used by the thread that steps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/verify/rule.h"
#include "core/verify/suppression.h"

namespace doppel::verify {

/// Where in a kernel: the instruction and the lane that made an access.
struct KernelPlace {
  std::string kernel;      // "saxpy", or "program 0x7f00001000"
  uint64_t pc = 0;         // GPU address of the instruction
  uint64_t pc_offset = 0;  // bytes from the kernel's first instruction
  uint32_t wave = 0;       // index in the dispatch
  uint32_t lane = 0;
};

/// Somebody involved in a finding.
struct Culprit {
  std::string role;    // "reads", "writes", "waits", "frees": what it does in this finding
  std::string actor;   // "queue 3 (pm4, gpu 0)", "host"
  std::string action;  // "DISPATCH_DIRECT", "Signal::set"
  std::optional<uint64_t> packet_offset;  // dwords since the queue's first packet
  std::string place;                      // "at dword 40 of the ring"
  std::string packet;                     // its dwords, for packets
  std::string node;                       // name of the graph node, if it has one
  std::optional<KernelPlace> kernel;

  /// "queue 3 (pm4, gpu 0), DISPATCH_DIRECT at dword 40 of the ring, kernel saxpy ..."
  std::string to_string() const;
};

/// Bytes of a buffer.
struct BufferRange {
  std::string buffer;   // "vram 3", or the name given to it
  uint64_t offset = 0;  // bytes
  uint64_t size = 0;
  uint64_t va = 0;  // GPU address of the first byte

  /// "vram 3+0x40, 128 bytes (va 0x7f0000000040)"
  std::string to_string() const;
};

struct Finding {
  RuleId rule = RuleId::ReadAfterWrite;
  std::string message;            // what happened here; a full sentence
  std::vector<Culprit> culprits;  // earlier one first
  std::optional<BufferRange> range;
  std::string missing;  // the edge, flush or packet that is missing
  std::string fix;      // what to do here; the rule's advice if empty
  uint64_t step = 0;    // of the simulator when it was found
  uint64_t count = 1;   // times it was found at the same place

  const Rule& info() const { return verify::rule(rule); }
  Severity severity() const { return info().severity; }
  const Culprit* culprit(size_t index) const {
    return index < culprits.size() ? &culprits[index] : nullptr;
  }

  /// What a user reads: a headline and one line a fact.
  std::string to_string() const;
  /// Equal for findings of one cause: rule, and the culprits' actors, actions and places.
  std::string key() const;
};

/// A finding that was wanted to be silent, and why.
struct SuppressedFinding {
  Finding finding;
  std::string reason;
};

class FindingLog {
 public:
  void suppress(Suppressions suppressions) { suppressions_ = std::move(suppressions); }

  /// Adds a finding, counts it if it is known, or sets it aside if it is suppressed.
  void add(Finding finding);

  const std::vector<Finding>& findings() const { return findings_; }
  const std::vector<SuppressedFinding>& suppressed() const { return suppressed_; }
  const Suppressions& suppressions() const { return suppressions_; }

  bool empty() const { return findings_.empty(); }
  size_t count(RuleId rule) const;
  /// The first of that rule, or nullptr.
  const Finding* find(RuleId rule) const;
  void clear();

  /// All findings, most severe first, and a line that counts them; "" without findings.
  std::string to_string() const;

  /// Findings beyond this many different ones are counted, not kept.
  static constexpr size_t kMaxFindings = 1000;
  uint64_t dropped() const { return dropped_; }

 private:
  Suppressions suppressions_;
  std::vector<Finding> findings_;
  std::vector<SuppressedFinding> suppressed_;
  struct Place {
    bool suppressed = false;
    size_t index = 0;
  };
  std::unordered_map<std::string, Place> known_;  // by key; looked up only
  uint64_t dropped_ = 0;
};

}  // namespace doppel::verify
