// CacheOp, CacheOps: what a packet does to a GPU's caches. Value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace doppel::verify {

/// What stands between a write and a read, once per GPU.
enum class CacheOp : uint8_t {
  InvalidateVector,       // GL0/GL1 (gfx10+), TCP L1 (gfx9.4)
  InvalidateScalar,       // the scalar data cache, K$
  InvalidateInstruction,  // I$
  InvalidateL2,
  WriteBackL2,
  FlushHdp,  // host writes through the BAR reach the GPU's memory
};
inline constexpr size_t kCacheOps = 6;

/// "a K$ invalidation (GLK_INV)", for reports.
std::string_view to_string(CacheOp op);

/// A set of cache operations.
class CacheOps {
 public:
  constexpr CacheOps(std::initializer_list<CacheOp> ops = {}) {
    for (CacheOp op : ops) add(op);
  }
  constexpr void add(CacheOp op) { bits_ |= bit(op); }
  constexpr void add_if(bool condition, CacheOp op) {
    if (condition) add(op);
  }
  constexpr bool has(CacheOp op) const { return bits_ & bit(op); }
  constexpr bool empty() const { return bits_ == 0; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (size_t op = 0; op < kCacheOps; ++op) {
      if (has(static_cast<CacheOp>(op))) visit(static_cast<CacheOp>(op));
    }
  }

 private:
  static constexpr uint8_t bit(CacheOp op) {
    return static_cast<uint8_t>(1 << static_cast<int>(op));
  }
  uint8_t bits_ = 0;
};

}  // namespace doppel::verify
