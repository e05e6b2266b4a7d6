// KnownMemory: GPU memory of which the bytes are known, by address. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace doppel::streams {

class KnownMemory {
 public:
  void add(uint64_t address, std::vector<uint32_t> dwords);
  /// Where to look for what this does not know; outlives it.
  void fall_back_on(const KnownMemory* other) { fallback_ = other; }

  /// Up to `dwords` dwords at the address; fewer or none where memory is not known.
  std::span<const uint32_t> at(uint64_t address, size_t dwords) const;

 private:
  std::map<uint64_t, std::vector<uint32_t>> ranges_;
  const KnownMemory* fallback_ = nullptr;
};

}  // namespace doppel::streams
