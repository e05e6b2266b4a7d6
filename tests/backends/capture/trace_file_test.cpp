// The trace file: what is written is read again, from any record on; whatever is cut off or damaged
// is an error, whereever the damage is.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/capture/record.h"
#include "backends/capture/trace_reader.h"
#include "backends/capture/trace_writer.h"
#include "core/prng.h"

namespace doppel::capture {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(uint64_t seed, size_t count) {
  Prng prng(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
  return bytes;
}

/// Records of random bytes; every tenth fills a quarter of a chunk.
std::vector<std::vector<std::byte>> make_records(size_t count) {
  std::vector<std::vector<std::byte>> records;
  for (size_t i = 0; i < count; ++i) {
    records.push_back(bytes_of(i, i % 10 == 9 ? kChunkBytes / 4 : i % 100));
  }
  return records;
}

std::string write(const std::vector<std::vector<std::byte>>& records, bool finish = true) {
  std::ostringstream out;
  TraceWriter writer(out);
  for (const auto& record : records) EXPECT_TRUE(writer.append(record));
  if (finish) {
    EXPECT_TRUE(writer.finish());
  }
  return out.str();
}

/// Reads all records; the error that comes out, if any.
Result<uint64_t> read_all(const std::string& file) {
  std::istringstream in(file);
  DOPPEL_ASSIGN(TraceReader reader, TraceReader::open(in));
  uint64_t count = 0;
  while (true) {
    DOPPEL_ASSIGN(const auto record, reader.next());
    if (!record) return count;
    ++count;
  }
}

TEST(TraceFile, EveryRecordComesBack) {
  const auto records = make_records(200);
  const std::string file = write(records);
  std::istringstream in(file);
  auto reader = TraceReader::open(in);
  ASSERT_TRUE(reader) << reader.error().to_string();
  EXPECT_EQ(reader->records(), records.size());
  for (const auto& record : records) {
    const auto read = reader->next();
    ASSERT_TRUE(read && *read);
    EXPECT_TRUE(std::ranges::equal(**read, record));
  }
  EXPECT_FALSE(reader->next()->has_value());
  EXPECT_FALSE(reader->next()->has_value());
}

TEST(TraceFile, AnyRecordIsFoundWithoutTheOnesBefore) {
  const auto records = make_records(200);
  const std::string file = write(records);
  std::istringstream in(file);
  auto reader = TraceReader::open(in);
  ASSERT_TRUE(reader);
  for (const size_t record : {150u, 3u, 199u, 0u, 40u, 39u}) {
    ASSERT_TRUE(reader->seek(record));
    const auto read = reader->next();
    ASSERT_TRUE(read && *read);
    EXPECT_TRUE(std::ranges::equal(**read, records[record])) << record;
  }
  ASSERT_TRUE(reader->seek(200));
  EXPECT_FALSE(reader->next()->has_value());
  EXPECT_EQ(reader->seek(201).error().code(), StatusCode::OutOfRange);
}

TEST(TraceFile, AnEmptyTraceIsOne) {
  EXPECT_EQ(read_all(write({})).value(), 0u);
  EXPECT_EQ(read_all(write({{}})).value(), 1u);
}

TEST(TraceFile, TooLongARecordIsRefused) {
  std::ostringstream out;
  TraceWriter writer(out);
  EXPECT_EQ(writer.append(std::vector<std::byte>(kMaxRecordBytes + 1)).error().code(),
            StatusCode::OutOfRange);
  EXPECT_TRUE(writer.append(std::vector<std::byte>(kMaxRecordBytes)));
}

TEST(TraceFile, AFullDiskIsAnError) {
  std::ostringstream out;
  TraceWriter writer(out);
  out.setstate(std::ios::badbit);
  (void)writer.append(bytes_of(1, kChunkBytes));  // is being written
  EXPECT_EQ(writer.append(bytes_of(2, kChunkBytes)).error().code(), StatusCode::System);
  EXPECT_EQ(writer.finish().error().code(), StatusCode::System);
}

TEST(TraceFile, EveryTruncationIsAnError) {
  const std::string file = write(make_records(30));
  for (size_t size = 0; size < file.size(); size += size < 100 ? 1 : 1 + file.size() / 500) {
    const auto read = read_all(file.substr(0, size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code(), StatusCode::Malformed) << read.error().to_string();
  }
  EXPECT_THAT(read_all(write(make_records(30), false)).error().message(), HasSubstr("has no end"));
}

TEST(TraceFile, EveryFlippedBitIsAnError) {
  const std::string file = write(make_records(9));
  for (size_t at = 0; at < file.size(); ++at) {
    if (at >= 12 && at < 16) continue;  // reserved bytes of the header
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    EXPECT_FALSE(read_all(damaged)) << "byte " << at << " of " << file.size();
  }
}

TEST(TraceFile, AnotherFileIsNamed) {
  EXPECT_THAT(read_all(std::string(100, 'x')).error().message(), HasSubstr("no trace"));
  std::string file = write({});
  file[8] = 9;
  const auto newer = read_all(file);
  EXPECT_EQ(newer.error().code(), StatusCode::Unsupported);
  EXPECT_THAT(newer.error().message(), HasSubstr("version 9"));
}

TEST(TraceRecord, EachKindComesBack) {
  const std::vector<Record> records = {
      StartRecord{"mock:gfx1100", {{11, 128, "gfx1100"}, {12, 129, "gfx1030"}}},
      OpenRecord{"/dev/kfd", 3},
      CloseRecord{3},
      IoctlRecord{3, 0xc0184b16, -12, bytes_of(1, 24), bytes_of(2, 24), {11, 12}},
      MemoryRecord{~uint64_t{0}, bytes_of(3, 5000)},
      SubmitRecord{7, 64},
      ResultRecord{0x1000, bytes_of(4, 3)},
  };
  for (const Record& record : records) {
    const auto bytes = encode(record);
    const auto decoded = decode(bytes);
    ASSERT_TRUE(decoded) << decoded.error().to_string();
    EXPECT_EQ(decoded->index(), record.index());
    EXPECT_EQ(encode(*decoded), bytes);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = decode(std::span(bytes).first(size));
      ASSERT_FALSE(cut);
      EXPECT_EQ(cut.error().code(), StatusCode::Malformed);
    }
  }
}

TEST(TraceRecord, DeepNestingIsRefused) {
  EXPECT_FALSE(decode(std::vector<std::byte>(1 << 20, std::byte{0x91})));
}

}  // namespace
}  // namespace doppel::capture
