// AccessLog: the bytes of GPU memory that one dispatch has read and written, exactly, with the
// instruction, wave and lane that touched each 64-byte line last. Kept only while an observer
// listens; waves record into it, one thread at a time (each worker has its own; merge() joins
// them).
//
// A read is kept only if the dispatch had not written the byte itself before: those are the reads
// whose value depends on somebody else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace doppel::emu {

enum class AccessMode : uint8_t {
  Read,        // vector loads; packets
  ScalarRead,  // through the scalar cache
  Write,
  Atomic,  // read, modified and written as one
};

/// Bytes that a packet has read or written.
struct MemoryAccess {
  uint64_t va = 0;
  uint64_t size = 0;
  AccessMode mode = AccessMode::Read;
};

/// The instruction and lane of an access.
struct AccessOrigin {
  uint64_t pc = 0;  // 0: unknown
  uint32_t wave = 0;
  uint32_t lane = 0;
};

/// Sees each access as it is recorded, repeats included.
class AccessListener {
 public:
  virtual ~AccessListener() = default;
  /// As AccessLog::lanes.
  virtual void on_lanes(uint64_t pc, uint32_t wave, uint32_t first_lane, const uint64_t* va,
                        uint32_t exec, uint32_t size, AccessMode mode) = 0;
  /// As AccessLog::range, of one lane or a scalar load.
  virtual void on_range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
                        AccessMode mode) = 0;
};

class AccessLog {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kLineBytes = 64;
  static constexpr size_t kLines = kPageBytes / kLineBytes;

  /// One bit a byte.
  using Bits = std::array<uint64_t, kLines>;

  struct Page {
    Bits read{};         // vector reads
    Bits scalar_read{};  //
    Bits written{};      // atomics included
    Bits atomic{};
    struct Origin {
      uint32_t wave = 0;
      uint16_t site = 0;  // index into the log's sites
      uint8_t lane = 0;
    };
    std::array<Origin, kLines> reader{}, writer{};
  };

  /// A load, store or atomic of `size` bytes at va[l] for the lanes l in `exec`, which are numbered
  /// in their wave from `first_lane` on.
  void lanes(uint64_t pc, uint32_t wave, uint32_t first_lane, const uint64_t* va, uint32_t exec,
             uint32_t size, AccessMode mode);

  /// One range.
  void range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
             AccessMode mode);

  void merge(const AccessLog& other);

  /// From now on `listener` sees every access; nullptr: nobody. Not owned.
  void set_listener(AccessListener* listener) { listener_ = listener; }

  bool empty() const { return pages_.empty(); }
  /// Page numbers (va / kPageBytes), ascending.
  std::vector<uint64_t> page_numbers() const;
  const Page& page(uint64_t number) const { return *pages_.at(number); }

  /// Who read, or wrote, the line of `va` last; an unknown origin if nobody has.
  AccessOrigin origin(uint64_t va, bool write) const;

 private:
  Page& find(uint64_t number);
  void mark_range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
                  AccessMode mode);
  uint16_t site(uint64_t pc);
  void mark(Page& page, uint64_t first, uint64_t bytes, AccessMode mode, Page::Origin origin);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;  // walked only in order of number
  std::unordered_map<uint64_t, uint16_t> site_of_;
  std::vector<uint64_t> sites_{0};  // pc by site; site 0: unknown
  uint64_t last_number_ = ~uint64_t{0};
  Page* last_page_ = nullptr;
  uint64_t last_pc_ = 0;
  uint16_t last_site_ = 0;
  AccessListener* listener_ = nullptr;
};

}  // namespace doppel::emu
