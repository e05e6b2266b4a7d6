// TraceReader: reads a trace file, in order or from any record on, holding one chunk and the index.
// What it is given may be anything: damage is an error that says where.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/capture/trace_format.h"
#include "core/status.h"

namespace doppel::capture {

class TraceReader {
 public:
  /// `in` is seekable, binary, and outlives the reader. Malformed for what is no trace, is cut off
  /// or damaged; Unsupported for another version.
  static Result<TraceReader> open(std::istream& in);

  uint64_t records() const { return records_; }

  /// The next record, valid until the next call; nullopt at the end.
  Result<std::optional<std::span<const std::byte>>> next();

  /// next() gives this record. OutOfRange beyond records().
  Result<> seek(uint64_t record);

 private:
  explicit TraceReader(std::istream& in) : in_(&in) {}
  Result<> read_at(uint64_t offset, std::span<std::byte> out);
  Result<> read_index();
  Result<> check_index(uint64_t index_offset) const;
  Result<> load_chunk(size_t chunk);
  uint64_t records_in(size_t chunk) const;

  std::istream* in_;
  uint64_t size_ = 0;
  uint64_t records_ = 0;
  std::vector<IndexEntry> index_;
  uint64_t index_offset_ = 0;

  size_t next_chunk_ = 0;         // to load when the present one is used up
  std::vector<std::byte> chunk_;  // unpacked
  size_t at_ = 0;                 // in it
};

}  // namespace doppel::capture
