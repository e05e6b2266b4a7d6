#include "backends/capture/trace_writer.h"

#include "core/own_thread.h"

#include <ostream>
#include <utility>

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
  status_ = write(bytes_of(TraceHeader{}));
  thread_ = std::jthread([this](const std::stop_token& stop) { pack_chunks(stop); });
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
  append_bytes(filling_.bytes, bytes_of(length));
  append_bytes(filling_.bytes, record);
  ++filling_.records;
  ++records_;
  return filling_.bytes.size() < kChunkBytes ? Result<>() : flush();
}

Result<> TraceWriter::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !packing_; });
  if (!status_ || filling_.records == 0) return status_;
  std::swap(filling_, packed_chunk_);
  filling_.bytes.clear();
  filling_.first_record = records_;
  filling_.records = 0;
  packing_ = true;
  changed_.notify_all();
  return {};
}

void TraceWriter::pack_chunks(const std::stop_token& stop) {
  const OwnThread own;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return packing_; })) {
    lock.unlock();
    Result<> written = pack(packed_chunk_);
    lock.lock();
    status_ = std::move(written);
    packing_ = false;
    changed_.notify_all();
  }
}

Result<> TraceWriter::pack(const Chunk& chunk) {
  packed_.resize(ZSTD_compressBound(chunk.bytes.size()));
  const size_t size =
      ZSTD_compress(packed_.data(), packed_.size(), chunk.bytes.data(), chunk.bytes.size(), kLevel);
  if (ZSTD_isError(size)) {
    return error(StatusCode::System,
                 fmt::format("A part of the trace can't be packed ({}).", ZSTD_getErrorName(size)));
  }
  ChunkHeader header;
  header.records = static_cast<uint32_t>(chunk.records);
  header.first_record = chunk.first_record;
  header.unpacked_bytes = static_cast<uint32_t>(chunk.bytes.size());
  header.packed_bytes = static_cast<uint32_t>(size);
  const std::span packed(packed_.data(), size);
  header.checksum = checksum_of(header, packed);
  index_.push_back({offset_, chunk.first_record});
  DOPPEL_TRY(write(bytes_of(header)));
  return write(packed);
}

Result<> TraceWriter::finish() {
  DOPPEL_TRY(flush());
  DOPPEL_TRY(flush());  // waits for the last chunk
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
