#include "backends/capture/trace_reader.h"

#include <algorithm>
#include <istream>
#include <span>

#include <fmt/format.h>
#include <zstd.h>

namespace doppel::capture {
namespace {

std::unexpected<Status> damaged(std::string_view what, uint64_t offset) {
  return error(StatusCode::Malformed,
               fmt::format("The trace is damaged: {} (byte {}).", what, offset));
}

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

Result<TraceReader> TraceReader::open(std::istream& in) {
  TraceReader reader(in);
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  if (!in || size < 0) return error(StatusCode::System, "The trace can't be read.");
  reader.size_ = static_cast<uint64_t>(size);
  TraceHeader header;
  if (reader.size_ < sizeof header) {
    return error(StatusCode::Malformed,
                 fmt::format("The file is too short for a trace ({} bytes).", reader.size_));
  }
  DOPPEL_TRY(reader.read_at(0, bytes_of(header)));
  if (header.magic != kTraceMagic) {
    return error(StatusCode::Malformed,
                 fmt::format("The file is no trace (it begins with {:#x}).", header.magic));
  }
  if (header.version != kTraceVersion) {
    return error(StatusCode::Unsupported,
                 fmt::format("The trace has version {}; this program reads {}.", header.version,
                             kTraceVersion));
  }
  DOPPEL_TRY(reader.read_index());
  return reader;
}

Result<> TraceReader::read_at(uint64_t offset, std::span<std::byte> out) {
  if (offset > size_ || out.size() > size_ - offset) {
    return damaged("it ends in the middle of something", size_);
  }
  in_->clear();
  in_->seekg(static_cast<std::streamoff>(offset));
  in_->read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  if (*in_) return {};
  return error(StatusCode::System, fmt::format("The trace can't be read (byte {}).", offset));
}

Result<> TraceReader::read_index() {
  Trailer trailer;
  const bool room = size_ >= sizeof(TraceHeader) + sizeof(IndexHeader) + sizeof trailer;
  if (room) DOPPEL_TRY(read_at(size_ - sizeof trailer, bytes_of(trailer)));
  if (!room || trailer.magic != kTrailerMagic) {
    return error(StatusCode::Malformed,
                 fmt::format("The trace has no end: it was cut off, or the program that wrote it "
                             "died ({} bytes).",
                             size_));
  }
  const uint64_t end = size_ - sizeof trailer;
  IndexHeader header;
  DOPPEL_TRY(read_at(trailer.index_offset, bytes_of(header)));
  const uint64_t room_for = end - std::min(end, trailer.index_offset + sizeof header);
  if (header.magic != kIndexMagic || header.chunks > kMaxChunks ||
      header.chunks * sizeof(IndexEntry) != room_for) {
    return damaged("its index is not where it should be", trailer.index_offset);
  }
  std::vector<std::byte> index(end - trailer.index_offset);
  DOPPEL_TRY(read_at(trailer.index_offset, index));
  if (checksum(index) != trailer.checksum) {
    return damaged("the index's checksum does not fit", trailer.index_offset);
  }
  index_.resize(header.chunks);
  std::ranges::copy(std::span(index).subspan(sizeof header),
                    std::as_writable_bytes(std::span(index_)).begin());
  records_ = trailer.records;
  index_offset_ = trailer.index_offset;
  return check_index(trailer.index_offset);
}

Result<> TraceReader::check_index(uint64_t index_offset) const {
  uint64_t least_offset = sizeof(TraceHeader), least_record = 0;
  for (const IndexEntry& entry : index_) {
    const bool first = &entry == index_.data();
    if (entry.offset < least_offset || entry.offset >= index_offset ||
        entry.first_record < least_record || (first && entry.first_record != 0)) {
      return damaged("its index contradicts itself", entry.offset);
    }
    least_offset = entry.offset + sizeof(ChunkHeader);
    least_record = entry.first_record + 1;
  }
  if (records_ < least_record || (index_.empty() && records_ != 0)) {
    return damaged("its index counts records that there are not", index_offset);
  }
  return {};
}

uint64_t TraceReader::records_in(size_t chunk) const {
  const uint64_t end = chunk + 1 == index_.size() ? records_ : index_[chunk + 1].first_record;
  return end - index_[chunk].first_record;
}

Result<> TraceReader::load_chunk(size_t chunk) {
  const IndexEntry& entry = index_[chunk];
  ChunkHeader header;
  DOPPEL_TRY(read_at(entry.offset, bytes_of(header)));
  if (header.magic != kChunkMagic || header.first_record != entry.first_record ||
      header.records != records_in(chunk) || header.unpacked_bytes > kMaxChunkBytes ||
      header.packed_bytes > index_offset_ - entry.offset) {
    return damaged("a chunk is not what the index says", entry.offset);
  }
  std::vector<std::byte> packed(header.packed_bytes);
  DOPPEL_TRY(read_at(entry.offset + sizeof header, packed));
  if (checksum_of(header, packed) != header.checksum) {
    return damaged("a chunk's checksum does not fit", entry.offset);
  }
  chunk_.resize(header.unpacked_bytes);
  const size_t size = ZSTD_decompress(chunk_.data(), chunk_.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) || size != chunk_.size()) {
    return damaged("a chunk does not unpack", entry.offset);
  }
  at_ = 0;
  next_chunk_ = chunk + 1;
  return {};
}

Result<std::optional<std::span<const std::byte>>> TraceReader::next() {
  if (at_ == chunk_.size()) {
    if (next_chunk_ == index_.size()) return std::nullopt;
    DOPPEL_TRY(load_chunk(next_chunk_));
  }
  uint32_t length = 0;
  const uint64_t chunk = index_[next_chunk_ - 1].offset;
  if (chunk_.size() - at_ < sizeof length) return damaged("a record is cut off", chunk);
  std::memcpy(&length, chunk_.data() + at_, sizeof length);
  at_ += sizeof length;
  if (length > chunk_.size() - at_) return damaged("a record is longer than its chunk", chunk);
  const auto record = std::span<const std::byte>(chunk_).subspan(at_, length);
  at_ += length;
  return record;
}

Result<> TraceReader::seek(uint64_t record) {
  if (record > records_) {
    return error(StatusCode::OutOfRange,
                 fmt::format("The trace has no record {}; it has {}.", record, records_));
  }
  if (index_.empty()) return {};
  const auto after = std::ranges::upper_bound(index_, record, {}, &IndexEntry::first_record);
  const auto chunk = static_cast<size_t>(after - index_.begin()) - 1;
  DOPPEL_TRY(load_chunk(chunk));
  for (uint64_t i = index_[chunk].first_record; i < record; ++i) DOPPEL_TRY(next());
  return {};
}

}  // namespace doppel::capture
