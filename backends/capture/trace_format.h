// The trace file (.dpl): a header, chunks of records, an index, a trailer. Little-endian.
//
//   header   magic, version
//   chunk    ChunkHeader, one Zstandard frame; unpacked: records, each a u32 length and its bytes
//   index    IndexHeader, one IndexEntry a chunk: any record is found without reading what is
//            before it
//   trailer  Trailer, the file's last bytes
//
// Each part carries a checksum of its bytes as they are in the file. A file without a trailer was
// cut off, or its writer died.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace doppel::capture {

inline constexpr uint64_t kTraceMagic = 0x454341525450440a;  // "\nDPTRACE"
inline constexpr uint32_t kTraceVersion = 1;
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"
inline constexpr uint32_t kIndexMagic = 0x58444e49;  // "INDX"
inline constexpr uint64_t kTrailerMagic = 0x444e455f5450440a;

/// Unpacked bytes at which a chunk is written; a record makes the last one of its chunk longer.
inline constexpr size_t kChunkBytes = size_t{1} << 20;
inline constexpr size_t kMaxRecordBytes = size_t{8} << 20;
inline constexpr size_t kMaxChunkBytes = kChunkBytes + kMaxRecordBytes + sizeof(uint32_t);
inline constexpr uint64_t kMaxChunks = uint64_t{1} << 24;

struct TraceHeader {
  uint64_t magic = kTraceMagic;
  uint32_t version = kTraceVersion;
  uint32_t reserved = 0;
};
static_assert(sizeof(TraceHeader) == 16);

struct ChunkHeader {
  uint32_t magic = kChunkMagic;
  uint32_t records = 0;
  uint64_t first_record = 0;
  uint32_t unpacked_bytes = 0;
  uint32_t packed_bytes = 0;
  uint64_t checksum = 0;  // of the packed bytes, seeded with the fields above
};
static_assert(sizeof(ChunkHeader) == 32);

struct IndexHeader {
  uint32_t magic = kIndexMagic;
  uint32_t reserved = 0;
  uint64_t chunks = 0;
};
static_assert(sizeof(IndexHeader) == 16);

struct IndexEntry {
  uint64_t offset = 0;  // of the chunk's header in the file
  uint64_t first_record = 0;
};
static_assert(sizeof(IndexEntry) == 16);

struct Trailer {
  uint64_t index_offset = 0;
  uint64_t records = 0;
  uint64_t checksum = 0;  // of the index, its header included
  uint64_t magic = kTrailerMagic;
};
static_assert(sizeof(Trailer) == 32);

/// A 64-bit checksum against damage, not against malice; also tells whether a page has changed.
inline uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed = 0) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t lanes[4] = {seed ^ kMultiplier, seed + 1, seed + 2, ~seed};
  size_t at = 0;
  const auto mix = [](uint64_t sum, uint64_t word) {
    const auto product = static_cast<unsigned __int128>(sum ^ word) * kMultiplier;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  for (; at + sizeof lanes <= bytes.size(); at += sizeof lanes) {
    uint64_t words[4];
    std::memcpy(words, bytes.data() + at, sizeof words);
    for (size_t i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i] + i);
  }
  uint64_t sum = bytes.size();
  for (; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    sum = mix(sum, word);
  }
  for (const uint64_t lane : lanes) sum = mix(sum, lane);
  return sum;
}

inline uint64_t checksum_of(const ChunkHeader& header, std::span<const std::byte> packed) {
  ChunkHeader fields = header;
  fields.checksum = 0;
  return checksum(packed, checksum(std::as_bytes(std::span(&fields, 1))));
}

}  // namespace doppel::capture
