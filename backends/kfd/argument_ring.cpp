#include "backends/kfd/argument_ring.h"

namespace doppel::kfd {

std::optional<uint32_t> ArgumentRing::allocate(uint32_t bytes, uint64_t submission) {
  const uint32_t rounded = (bytes + alignment_ - 1) / alignment_ * alignment_;
  if (rounded < bytes || rounded > size_) return std::nullopt;
  uint32_t begin = 0;
  if (!in_use_.empty()) {
    const uint32_t oldest = in_use_.front().begin;
    const uint32_t head = in_use_.back().end;
    if (head > oldest) {  // in use: [oldest, head)
      if (size_ - head >= rounded) {
        begin = head;
      } else if (oldest >= rounded) {
        begin = 0;
      } else {
        return std::nullopt;
      }
    } else {  // in use: [oldest, size) and [0, head)
      if (oldest - head < rounded) return std::nullopt;
      begin = head;
    }
  }
  in_use_.push_back({begin, begin + rounded, submission});
  return begin;
}

void ArgumentRing::retire(uint64_t submission) {
  while (!in_use_.empty() && in_use_.front().submission <= submission) in_use_.pop_front();
}

}  // namespace doppel::kfd
