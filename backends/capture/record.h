// Record: what a trace is made of: the calls of a client to its driver, what its host wrote into
// memory that GPUs see, its submissions, and what the GPUs made of them.
//
// Encoded as MessagePack arrays. Values that a hostile file may hold are checked when they are
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/status.h"

namespace doppel::capture {

inline constexpr uint64_t kPageBytes = 4096;

/// How long a driver that never says Stalled is given to come to rest; of its clock.
inline constexpr uint64_t kRestNs = 1'000'000'000;

/// First: whose client it was.
struct StartRecord {
  struct Gpu {
    uint32_t gpu_id = 0;
    uint32_t render_minor = 0;
    std::string target;  // "gfx1100"
  };
  std::string machine;  // "mock:gfx1100", "kfd"
  std::vector<Gpu> gpus;
};

struct OpenRecord {
  std::string path;
  int fd = -1;  // or -errno
};

struct CloseRecord {
  int fd = -1;
};

struct IoctlRecord {
  int fd = -1;
  uint32_t request = 0;
  int result = 0;
  std::vector<std::byte> in;   // the argument before
  std::vector<std::byte> out;  // and after
  std::vector<uint32_t> gpus;  // of (un)mapping
};

/// Bytes that the host has written since the record before.
struct MemoryRecord {
  uint64_t va = 0;
  std::vector<std::byte> bytes;
};

/// New packets in a ring, which is in the memory before.
struct SubmitRecord {
  uint32_t queue = 0;  // the driver's id, as CREATE_QUEUE returned it
  uint64_t write_pointer = 0;
};

/// Bytes that the GPUs have changed once nothing ran any more.
struct ResultRecord {
  uint64_t va = 0;
  std::vector<std::byte> bytes;
};

using Record = std::variant<StartRecord, OpenRecord, CloseRecord, IoctlRecord, MemoryRecord,
                            SubmitRecord, ResultRecord>;

std::vector<std::byte> encode(const Record& record);
/// Malformed, naming what is wrong.
Result<Record> decode(std::span<const std::byte> bytes);

}  // namespace doppel::capture
