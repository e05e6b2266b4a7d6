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

#include "emulator/verify/cache_ops.h"
#include "emulator/verify/epoch.h"

namespace doppel::verify {

class Past {
 public:
  Clock& order() { return order_; }
  const Clock& order() const { return order_; }

  void join(const Past& other);

  /// The operations take place now: they cover what is complete in `order()`.
  void apply(uint32_t gpu, const CacheOps& ops);

  /// Whether the write at `epoch` had been complete when the operation was last done.
  bool shows(uint32_t gpu, CacheOp op, const Epoch& epoch) const;

 private:
  using Shared = std::shared_ptr<const Clock>;
  using Seen = std::vector<std::array<Shared, kCacheOps>>;  // by GPU
  static void merge(Shared& mine, const Shared& theirs);

  Clock order_;
  std::shared_ptr<const Seen> seen_;  // nullptr: nothing yet
};

}  // namespace doppel::verify
