#include "backends/capture/trace_writer.h"

#include <ostream>

#include <fmt/format.h>
#include <zstd.h>

namespace doppel::capture {
namespace {

constexpr int kLevel = 1;  // recording must not take long

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

void append_bytes(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

TraceWriter::TraceWriter(std::ostream& out) : out_(out) {
  (void)write(bytes_of(TraceHeader{}));
}

Result<> TraceWriter::write(std::span<const std::byte> bytes) {
  out_.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  offset_ += bytes.size();
  if (out_) return {};
  return error(StatusCode::System,
               fmt::format("The trace can't be written ({} bytes so far).", offset_));
}

Result<> TraceWriter::append(std::span<const std::byte> record) {
  if (record.size() > kMaxRecordBytes) {
    return error(StatusCode::OutOfRange,
                 fmt::format("A record of a trace is too long ({} bytes).", record.size()));
  }
  const auto length = static_cast<uint32_t>(record.size());
  append_bytes(chunk_, bytes_of(length));
  append_bytes(chunk_, record);
  ++records_;
  return chunk_.size() < kChunkBytes ? Result<>() : flush();
}

Result<> TraceWriter::flush() {
  if (chunk_.empty()) return {};
  packed_.resize(ZSTD_compressBound(chunk_.size()));
  const size_t size =
      ZSTD_compress(packed_.data(), packed_.size(), chunk_.data(), chunk_.size(), kLevel);
  if (ZSTD_isError(size)) {
    return error(StatusCode::System,
                 fmt::format("A part of the trace can't be packed ({}).", ZSTD_getErrorName(size)));
  }
  packed_.resize(size);
  ChunkHeader header;
  header.records = static_cast<uint32_t>(records_ - first_in_chunk_);
  header.first_record = first_in_chunk_;
  header.unpacked_bytes = static_cast<uint32_t>(chunk_.size());
  header.packed_bytes = static_cast<uint32_t>(size);
  header.checksum = checksum_of(header, packed_);
  index_.push_back({offset_, first_in_chunk_});
  DOPPEL_TRY(write(bytes_of(header)));
  DOPPEL_TRY(write(packed_));
  chunk_.clear();
  first_in_chunk_ = records_;
  return {};
}

Result<> TraceWriter::finish() {
  DOPPEL_TRY(flush());
  std::vector<std::byte> index;
  IndexHeader header;
  header.chunks = index_.size();
  append_bytes(index, bytes_of(header));
  append_bytes(index, std::as_bytes(std::span(index_)));
  Trailer trailer;
  trailer.index_offset = offset_;
  trailer.records = records_;
  trailer.checksum = checksum(index);
  DOPPEL_TRY(write(index));
  DOPPEL_TRY(write(bytes_of(trailer)));
  out_.flush();
  return write({});
}

}  // namespace doppel::capture
