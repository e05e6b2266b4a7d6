// CommandEncoder: commands on top of packets, one class per packet language. A command appends the
// packets that carry it out on the stream's GPU family to a CommandStream and returns the patches
// of everything a replay may change; what differs between families is in the packets' rows.
//
// Errors go to the stream (CommandStream::fail), whose check() the submitter calls: commands chain.
// An encoder borrows its stream and has no state of its own. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/abi/hsa_aql.h"
#include "core/code_object.h"
#include "core/command_stream.h"
#include "core/launch.h"
#include "core/packets/aql.h"
#include "core/packets/pm4.h"
#include "core/packets/sdma.h"
#include "core/signal.h"

namespace doppel {

/// Scratch memory of a queue: its address and the value of COMPUTE_TMPRING_SIZE.
struct ScratchRing {
  uint64_t address = 0;
  uint32_t tmpring_size = 0;
};

/// The buffer descriptor of the ring, swizzled so that lanes interleave by dword: user SGPRs of
/// kernels that ask for it, and amd_queue_t.
std::array<uint32_t, 4> scratch_descriptor(const ScratchRing& scratch, uint32_t wave_size,
                                           GfxFamily family);

/// One kernel launch.
struct DispatchCommand {
  const KernelInfo* kernel = nullptr;
  uint64_t entry_address = 0;       // first instruction (PM4)
  uint64_t descriptor_address = 0;  // kernel descriptor (AQL)
  LaunchDims dims;
  uint64_t kernarg_address = 0;
  /// PM4: where the caller keeps the dispatch packet that a kernel with a dispatch pointer reads.
  uint64_t dispatch_packet_address = 0;
  uint32_t group_bytes = 0;    // LDS of a workgroup, dynamic part included
  uint32_t private_bytes = 0;  // scratch of a work-item where the kernel's own number is too small
  ScratchRing scratch;         // PM4
  SignalRef completion;        // AQL: decremented when the kernel has ended
};

/// The launch dimensions of an encoded dispatch.
struct LaunchPatch {
  std::array<Patch<uint32_t>, 3> work_items;       // AQL
  std::array<Patch<uint32_t>, 3> workgroup;        // AQL
  std::array<Patch<uint32_t>, 3> workgroups;       // PM4
  std::array<Patch<uint32_t>, 3> num_thread_full;  // PM4
  std::array<Patch<uint32_t>, 3> num_thread_partial;
  Patch<bool> partial_tg_en;
  Patch<uint32_t> dimensions;  // AQL

  void set(std::span<uint32_t> dwords, const LaunchDims& dims) const;
};

struct DispatchPatch {
  LaunchPatch dims;
  Patch<uint64_t> kernarg_address;
  Patch<uint64_t> dispatch_packet_address;  // PM4
  Patch<uint64_t> completion_signal;        // AQL
};

struct WaitPatch {
  Patch<uint64_t> address;  // of the signal's value
  Patch<uint32_t> value;    // PM4 and SDMA compare 32 bits
  Patch<uint64_t> signal;   // AQL: of the amd_signal_t
  Patch<uint64_t> value64;  // AQL

  void set_signal(std::span<uint32_t> dwords, const SignalRef& signal) const;
  void set_value(std::span<uint32_t> dwords, uint64_t value) const;
};

struct SignalPatch {
  Patch<uint64_t> address;  // of the signal's value
  Patch<uint64_t> value64;  // PM4
  Patch<uint32_t> value32;  // SDMA
  // Empty if the signal had no mailbox when it was encoded.
  Patch<uint64_t> mailbox_address;
  Patch<uint64_t> mailbox_value64;
  Patch<uint32_t> mailbox_value32;
  Patch<uint32_t> event_id;

  /// The new signal must have a mailbox exactly if the old one had.
  void set_signal(std::span<uint32_t> dwords, const SignalRef& signal) const;
  void set_value(std::span<uint32_t> dwords, uint64_t value) const;
};

struct TimestampPatch {
  Patch<uint64_t> address;
};

/// A copy or fill in `parts` equal packets, the last one perhaps shorter.
struct CopyPatch {
  Patch<uint64_t> dst, src;  // of the first part; a fill has no source
  Patch<uint32_t> count;
  Patch<uint32_t> value;  // of a fill
  uint32_t stride = 0;    // dwords from part to part
  uint32_t parts = 0;
  uint64_t max_part = 0;    // bytes
  uint64_t bytes = 0;       // of the whole
  uint32_t count_bias = 1;  // what the count field leaves out, bytes

  void set_dst(std::span<uint32_t> dwords, uint64_t address) const;
  void set_src(std::span<uint32_t> dwords, uint64_t address) const;
  void set_value(std::span<uint32_t> dwords, uint32_t value) const;
  /// InvalidArgument if the new size would need another number of packets.
  Result<> set_bytes(std::span<uint32_t> dwords, uint64_t bytes);
};

struct IndirectPatch {
  Patch<uint64_t> address;
  Patch<uint32_t> size;  // dwords
};

/// How a command stores a signal's value.
enum class SignalWidth : uint8_t { Bits32, Bits64 };

/// Commands of a PM4 compute queue.
class Pm4Encoder {
 public:
  explicit Pm4Encoder(CommandStream& stream);

  /// What the host and other engines wrote before is visible to what follows: flushes the host data
  /// path, then invalidates the caches.
  Pm4Encoder& memory_barrier();
  /// Writes back and invalidates every cache over the whole address space.
  Pm4Encoder& acquire_caches();
  /// Launches a kernel and waits at its end, after acquire_caches().
  DispatchPatch exec(const DispatchCommand& command);
  WaitPatch wait(const SignalRef& signal, uint64_t value,
                 SignalCondition condition = SignalCondition::GreaterEqual);
  /// Stores the value when everything before has ended and its writes are visible; then tells the
  /// signal's event, if it has one.
  SignalPatch signal(const SignalRef& signal, uint64_t value,
                     SignalWidth width = SignalWidth::Bits32);
  /// Stores the GPU's counter when everything before has ended.
  TimestampPatch timestamp(uint64_t address);
  /// Runs the packets in another buffer (`dwords` of them), then goes on here.
  IndirectPatch indirect(uint64_t address, uint32_t dwords);

 private:
  CommandStream& stream_;
};

/// The largest piece that copy() and fill() put into one packet, bytes.
inline constexpr uint64_t kSdmaMaxTransfer = 0x400000;

/// Commands of an SDMA queue.
class SdmaEncoder {
 public:
  explicit SdmaEncoder(CommandStream& stream, uint64_t max_transfer = kSdmaMaxTransfer);

  CopyPatch copy(uint64_t dst, uint64_t src, uint64_t bytes);
  /// Repeats the 32-bit value; address and size must be multiples of 4.
  CopyPatch fill(uint64_t dst, uint32_t value, uint64_t bytes);
  /// Stores dwords that the packet carries; the address must be a multiple of 4.
  void write(uint64_t dst, std::span<const uint32_t> dwords);
  WaitPatch wait(const SignalRef& signal, uint64_t value,
                 SignalCondition condition = SignalCondition::GreaterEqual);
  SignalPatch signal(const SignalRef& signal, uint64_t value);
  TimestampPatch timestamp(uint64_t address);
  IndirectPatch indirect(uint64_t address, uint32_t dwords);

 private:
  CommandStream& stream_;
  uint64_t max_transfer_;
};

/// Commands of an AQL queue. Headers are written with their final type: who copies a stream into a
/// ring stores each packet's first dword last.
class AqlEncoder {
 public:
  explicit AqlEncoder(CommandStream& stream);

  DispatchPatch exec(const DispatchCommand& command);
  /// Waits until every signal (at most 5; 0 entries are none) is 0, then decrements `completion`.
  void barrier_and(std::span<const SignalRef> dependencies, const SignalRef& completion = {});
  /// Waits until one of the signals is 0.
  void barrier_or(std::span<const SignalRef> dependencies, const SignalRef& completion = {});
  /// Waits until the signal's value satisfies the condition (vendor packet).
  WaitPatch wait(const SignalRef& signal, uint64_t value,
                 SignalCondition condition = SignalCondition::GreaterEqual);
  /// Runs PM4 packets in another buffer (vendor packet).
  IndirectPatch indirect_pm4(uint64_t address, uint32_t dwords, const SignalRef& completion = {});

 private:
  CommandStream& stream_;
};

}  // namespace doppel
