// Past: everything that an actor may rely on at one point: which epochs are complete (order), and
// of which of them each cache shows the bytes (visibility). Signals carry it from actor to actor.
//
// Visibility: an invalidation of a cache lets readers behind that cache see all writes that were
// complete before it; a write-back of a GPU's L2 lets agents beyond that L2 see them. So each cache
// has a clock: the order as it was at the latest such operation that the actor knows of.
//
// Value type; copies share the clocks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/verify/epoch.h"

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

class Past {
 public:
  Clock& order() { return order_; }
  const Clock& order() const { return order_; }

  void join(const Past& other);

  /// The operation takes place now: it covers what is complete in `order()`.
  void apply(uint32_t gpu, CacheOp op);
  /// The operation covers what is complete in `covered`.
  void apply(uint32_t gpu, CacheOp op, std::shared_ptr<const Clock> covered);

  /// Whether the write at `epoch` had been complete when the operation was last done.
  bool shows(uint32_t gpu, CacheOp op, const Epoch& epoch) const;

 private:
  using Shared = std::shared_ptr<const Clock>;
  std::array<Shared, kCacheOps>& of(uint32_t gpu);
  static void merge(Shared& mine, const Shared& theirs);

  Clock order_;
  std::vector<std::array<Shared, kCacheOps>> seen_;  // by GPU
};

}  // namespace doppel::verify
