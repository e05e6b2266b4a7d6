// Queue: one hardware queue of a device, and what it takes: a Submission. Users record with
// commands.h; a graph builds Submissions itself.
//
// Order: packets of one queue start in order; a dispatch may overlap the next unless a barrier, a
// signal or a wait stands between. Queues are ordered only by signals. submit() is safe to call
// from several threads: each submission stays in one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/command_encoder.h"
#include "core/command_stream.h"
#include "core/kernel_args.h"
#include "core/signal.h"
#include "core/status.h"

namespace doppel {

class Device;

/// The packet language that a queue understands.
enum class QueueKind : uint8_t { Pm4, Aql, Sdma };
std::string_view to_string(QueueKind kind);
packets::Language language_of(QueueKind kind);

struct QueueOptions {
  QueueKind kind = QueueKind::Pm4;
  uint32_t ring_bytes = 1 << 20;  // a power of two, 4 KiB or more
  uint32_t priority = 7;          // 0 (lowest) to 15
};

/// Memory that accompanies a submission: kernel arguments, dispatch packets, small indirect
/// buffers. The queue copies it to the GPU and reuses its place once the submission has retired.
class ArgumentBlock {
 public:
  static constexpr uint32_t kAlignment = 256;  // of the whole block's address

  /// Appends `bytes` zero bytes, aligned to a power of two of at most kAlignment; returns their
  /// offset.
  uint32_t reserve(uint32_t bytes, uint32_t alignment);
  std::span<std::byte> at(uint32_t offset, uint32_t bytes) {
    return std::span(bytes_).subspan(offset, bytes);
  }

  /// The stream's field `patch` takes the GPU address of `offset`.
  void refer(const Patch<uint64_t>& patch, uint32_t offset) {
    references_.push_back({patch, offset});
  }
  /// The eight bytes at `place` take the GPU address of `offset`.
  void point(uint32_t place, uint32_t offset) { pointers_.push_back({place, offset}); }

  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }

  /// Copies the block to `destination` (size() bytes), which the GPU sees at `address`, and patches
  /// the references in `dwords`.
  void place(std::span<std::byte> destination, uint64_t address, std::span<uint32_t> dwords) const;

 private:
  struct Reference {
    Patch<uint64_t> patch;
    uint32_t offset = 0;
  };
  struct Pointer {
    uint32_t place = 0;
    uint32_t offset = 0;
  };
  std::vector<std::byte> bytes_;
  std::vector<Reference> references_;
  std::vector<Pointer> pointers_;
};

struct Submission {
  Submission(QueueKind kind, GfxFamily family) : commands(language_of(kind), family) {}

  CommandStream commands;
  ArgumentBlock arguments;
  /// What must not go before the submission has retired: programs, scratch memory.
  std::vector<std::shared_ptr<const void>> keep_alive;
};

/// Appends an AQL packet that runs PM4 packets; they travel among the submission's arguments.
void append_pm4(Submission& submission, const CommandStream& pm4);

/// Scratch memory that dispatches recorded for a queue use; `keep_alive` goes into their
/// Submission.
struct ScratchLease {
  ScratchRing ring;  // empty for AQL, where the packet processor finds it by itself
  std::shared_ptr<const void> keep_alive;
};

/// Room in a queue for one submission, and the right to be the next: the queue takes nothing else
/// until the reservation is published or destroyed.
class QueueReservation {
 public:
  /// Gives room and turn back, unless published.
  virtual ~QueueReservation() = default;
  /// Makes the packets visible to the hardware. Can't fail; at most once.
  virtual void publish() = 0;
};

class Queue {
 public:
  virtual ~Queue() = default;  // waits for what it can, then destroys the hardware queue
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  virtual QueueKind kind() const = 0;
  virtual uint32_t id() const = 0;  // the driver's
  virtual Device& device() const = 0;

  /// Publishes the packets as one piece. Waits while the ring or the argument memory is full;
  /// OutOfRange if they could never hold it. The stream's own error comes out here.
  Result<> submit(Submission submission);

  /// The first half of submit(): all that can fail or wait. A thread that holds reservations of
  /// several queues must make them in the order that submit_together() makes them.
  virtual Result<std::unique_ptr<QueueReservation>> reserve(Submission submission) = 0;

  /// Expires when the queue is destroyed: for those who keep a pointer to it.
  std::weak_ptr<const void> lifetime() const { return lifetime_; }

  /// The longest stream that a submission can have, dwords.
  virtual uint64_t max_stream() const = 0;

  /// Scratch for kernels of this size, grown on demand. OutOfRange beyond the hardware's limit.
  virtual Result<ScratchLease> scratch(uint32_t private_bytes, uint32_t wave_size) = 0;

  /// What hidden arguments say of this queue.
  virtual HiddenArgs hidden_args() const = 0;

  /// Submissions made, and how many of them have retired (all their packets have finished).
  virtual uint64_t submitted() const = 0;
  virtual uint64_t retired() = 0;
  /// Waits until all that has been submitted so far has retired.
  virtual Result<> synchronize(const WaitOptions& options = {}) = 0;

 protected:
  Queue() = default;

 private:
  std::shared_ptr<const void> lifetime_ = std::make_shared<char>();
};

struct QueuedSubmission {
  Queue* queue = nullptr;
  Submission submission;
};

/// Publishes to several queues, each of them once (else InvalidArgument): to all, or to none and
/// says why. Work that waits
/// for itself across queues needs this, also so that two such submissions meet in the same order on
/// every queue.
Result<> submit_together(std::vector<QueuedSubmission> submissions);

}  // namespace doppel
