// TraceWriter: writes a trace file record by record, holding one chunk and 16 bytes per chunk
// written. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <vector>

#include "backends/capture/trace_format.h"
#include "core/status.h"

namespace doppel::capture {

class TraceWriter {
 public:
  /// `out` is empty, binary, and outlives the writer.
  explicit TraceWriter(std::ostream& out);

  /// OutOfRange beyond kMaxRecordBytes; System once the stream has failed.
  Result<> append(std::span<const std::byte> record);

  /// Writes what is left, index and trailer. At most once; without it the file counts as cut off.
  Result<> finish();

  uint64_t records() const { return records_; }

 private:
  Result<> flush();
  Result<> write(std::span<const std::byte> bytes);

  std::ostream& out_;
  uint64_t offset_ = 0;
  uint64_t records_ = 0;
  uint64_t first_in_chunk_ = 0;
  std::vector<std::byte> chunk_;
  std::vector<std::byte> packed_;
  std::vector<IndexEntry> index_;
};

}  // namespace doppel::capture
