// IndirectStream: the commands of one queue, encoded once into memory that the queue's engine reads
// through indirect buffers. Patches of the encoded commands apply to dwords(), in that memory.
//
// Not thread-safe. Must outlive the submissions that call it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/command_stream.h"
#include "core/memory.h"
#include "core/queue.h"
#include "core/status.h"

namespace doppel::graph {

class IndirectStream {
 public:
  IndirectStream(QueueKind kind, GfxFamily family) : commands_(language_of(kind), family) {}

  /// Where to encode, until bind().
  CommandStream& commands() { return commands_; }

  /// Marks a place between two commands at which the stream may be cut into indirect buffers, whose
  /// length is limited.
  void allow_cut();

  /// Copies what was encoded to memory of `device`. The stream's own error comes out here;
  /// Exhausted if the commands between two cuts are longer than an indirect buffer can be.
  Result<> bind(Device& device);

  /// Appends the packets that run the bound commands to a stream of the same language.
  void call(CommandStream& caller) const;

  /// The bound commands, for patches.
  std::span<uint32_t> dwords() const;
  /// A copy of the commands as they stand now.
  CommandStream snapshot() const;

 private:
  bool fits() const;
  uint32_t segment_begin() const { return segment_ends_.empty() ? 0 : segment_ends_.back(); }
  void pad();

  CommandStream commands_;
  std::vector<uint32_t> segment_ends_;  // dwords
  uint32_t last_cut_ = 0;               // where the commands may be cut
  Allocation memory_;
};

}  // namespace doppel::graph
