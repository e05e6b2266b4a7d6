#include "emulator/verify/past.h"

#include <algorithm>

namespace doppel::verify {

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
  if (!other.seen_ || seen_ == other.seen_) return;
  if (!seen_) {
    seen_ = other.seen_;
    return;
  }
  auto both = std::make_shared<Seen>(*seen_);
  both->resize(std::max(both->size(), other.seen_->size()));
  for (size_t gpu = 0; gpu < other.seen_->size(); ++gpu) {
    for (size_t op = 0; op < kCacheOps; ++op) merge((*both)[gpu][op], (*other.seen_)[gpu][op]);
  }
  seen_ = std::move(both);
}

void Past::apply(uint32_t gpu, const CacheOps& ops) {
  if (ops.empty()) return;
  const auto covered = std::make_shared<const Clock>(order_);
  auto seen = seen_ ? std::make_shared<Seen>(*seen_) : std::make_shared<Seen>();
  seen->resize(std::max<size_t>(seen->size(), gpu + 1));
  ops.for_each([&](CacheOp op) { merge((*seen)[gpu][static_cast<size_t>(op)], covered); });
  seen_ = std::move(seen);
}

bool Past::shows(uint32_t gpu, CacheOp op, const Epoch& epoch) const {
  if (epoch.number == 0) return true;
  if (!seen_ || gpu >= seen_->size()) return false;
  const Shared& clock = (*seen_)[gpu][static_cast<size_t>(op)];
  return clock && clock->covers(epoch);
}

}  // namespace doppel::verify
