// TraceWriter: writes a trace file record by record, holding two chunks and 16 bytes per chunk
// written. Whoever records shall not wait: a thread of the writer packs and writes one chunk while
// the next one is filled. Not thread-safe itself.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "backends/capture/trace_format.h"
#include "core/status.h"

namespace doppel::capture {

class TraceWriter {
 public:
  /// `out` is empty, binary, and outlives the writer.
  explicit TraceWriter(std::ostream& out);

  /// OutOfRange beyond kMaxRecordBytes; System once the stream has failed, which an earlier record
  /// may have made it.
  Result<> append(std::span<const std::byte> record);

  /// Writes what is left, index and trailer. At most once; without it the file counts as cut off.
  Result<> finish();

  uint64_t records() const { return records_; }

 private:
  /// Records that go into the file together.
  struct Chunk {
    std::vector<std::byte> bytes;
    uint64_t first_record = 0;
    uint64_t records = 0;
  };

  /// Gives the chunk to the thread, once that has done with the one before; its error comes out.
  Result<> flush();
  Result<> pack(const Chunk& chunk);
  Result<> write(std::span<const std::byte> bytes);
  void pack_chunks(const std::stop_token& stop);

  uint64_t records_ = 0;
  Chunk filling_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool packing_ = false;  // the thread is at work on packed_chunk_, out_ and what follows
  Result<> status_;
  Chunk packed_chunk_;
  std::ostream& out_;
  uint64_t offset_ = 0;
  std::vector<std::byte> packed_;
  std::vector<IndexEntry> index_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace doppel::capture
