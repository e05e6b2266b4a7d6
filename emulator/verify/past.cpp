#include "emulator/verify/past.h"

#include <string_view>

namespace doppel::verify {

std::string_view to_string(CacheOp op) {
  switch (op) {
    case CacheOp::InvalidateVector:
      return "an invalidation of the vector caches";
    case CacheOp::InvalidateScalar:
      return "an invalidation of the scalar cache";
    case CacheOp::InvalidateInstruction:
      return "an invalidation of the instruction cache";
    case CacheOp::InvalidateL2:
      return "an invalidation of L2";
    case CacheOp::WriteBackL2:
      return "a write-back of L2";
    case CacheOp::FlushHdp:
      return "a flush of the host data path (HDP)";
  }
  return "?";
}

std::array<Past::Shared, kCacheOps>& Past::of(uint32_t gpu) {
  if (gpu >= seen_.size()) seen_.resize(gpu + 1);
  return seen_[gpu];
}

void Past::merge(Shared& mine, const Shared& theirs) {
  if (!theirs || mine == theirs) return;
  if (!mine || theirs->covers(*mine)) {
    mine = theirs;
  } else if (!mine->covers(*theirs)) {
    auto both = std::make_shared<Clock>(*mine);
    both->join(*theirs);
    mine = std::move(both);
  }
}

void Past::join(const Past& other) {
  order_.join(other.order_);
  if (other.seen_.size() > seen_.size()) seen_.resize(other.seen_.size());
  for (size_t gpu = 0; gpu < other.seen_.size(); ++gpu) {
    for (size_t op = 0; op < kCacheOps; ++op) merge(seen_[gpu][op], other.seen_[gpu][op]);
  }
}

void Past::apply(uint32_t gpu, CacheOp op) {
  apply(gpu, op, std::make_shared<const Clock>(order_));
}

void Past::apply(uint32_t gpu, CacheOp op, std::shared_ptr<const Clock> covered) {
  merge(of(gpu)[static_cast<size_t>(op)], covered);
}

bool Past::shows(uint32_t gpu, CacheOp op, const Epoch& epoch) const {
  if (epoch.number == 0) return true;
  if (gpu >= seen_.size()) return false;
  const Shared& clock = seen_[gpu][static_cast<size_t>(op)];
  return clock && clock->covers(epoch);
}

}  // namespace doppel::verify
