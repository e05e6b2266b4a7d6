// CaptureKernel: a decorator that writes a trace of everything that passes the seam: calls, what
// the host wrote into memory that GPUs see, submissions, and what the GPUs made of them. Works on
// any driver, real or emulated.
//
// At each submission the client is held until the GPUs rest: what they changed is then set apart
// from what the host writes. On the emulator in process that is exact (nothing is runnable any
// more); on a real driver it is when every queue's read pointer has reached its write pointer and
// no visible memory has changed for 5 ms, or a second has passed. What the host writes without a
// submission to release a GPU that waits is seen at the next one.
//
// Client memory is placed where a replay will find it free (PlacingKernel). Safe to use from
// several threads, which are held together.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/capture/record.h"
#include "backends/capture/trace_writer.h"
#include "backends/kfd/placing_kernel.h"

namespace doppel::capture {

class CaptureKernel final : public kfd::PlacingKernel {
 public:
  /// `out` outlives the kernel; `machine` names what it records.
  CaptureKernel(std::shared_ptr<kfd::KernelAbi> kernel, std::ostream& out, std::string machine);
  /// finish(), unless done.
  ~CaptureKernel() override;

  int open(const char* path, int flags) override;
  int close(int fd) override;
  int ioctl(int fd, unsigned long request, void* argument) override;
  void* mmap(void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
             int* os_error) override;
  void advance_queue(const kfd::QueueAdvance& advance) override;

  /// Records what memory holds now and ends the trace; nothing is recorded afterwards. The first
  /// error of the whole recording comes out.
  Result<> finish();

 private:
  /// Memory that GPUs see and the host too.
  struct Range {
    uint64_t va = 0;
    uint64_t size = 0;
    uint64_t mmap_offset = 0;
    const std::byte* host = nullptr;  // nullptr: not mapped (yet)
    std::vector<uint64_t> pages;      // checksums, as recorded last
  };
  struct Queue {
    const uint64_t* read_pointer = nullptr;  // nullptr: the host can't see it
    const uint64_t* write_pointer = nullptr;
  };
  enum class Author : uint8_t { Host, Gpu };

  // With mutex_ held.
  void start();
  void write(const Record& record);
  void snapshot(Author author);
  void snapshot_range(Range& range, Author author);
  void write_bytes(const Range& range, uint64_t first, uint64_t bytes, Author author);
  void note_ioctl(unsigned long request, const IoctlRecord& record);
  void note_allocation(const IoctlRecord& record);
  void note_queue(const IoctlRecord& record);
  const uint64_t* host_word(uint64_t va) const;
  void rest();
  bool queues_are_empty() const;
  uint64_t memory_checksum() const;

  std::recursive_mutex mutex_;
  std::string machine_;
  bool is_real_;
  TraceWriter writer_;
  Result<> status_;
  bool started_ = false;
  bool finished_ = false;
  std::map<uint64_t, Range> ranges_;  // by handle
  std::map<uint32_t, Queue> queues_;  // by id
};

}  // namespace doppel::capture
