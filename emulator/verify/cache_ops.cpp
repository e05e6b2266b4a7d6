#include "emulator/verify/cache_ops.h"

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

}  // namespace doppel::verify
