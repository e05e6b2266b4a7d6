#include "emulator/verify/cache_model.h"

#include <iterator>

namespace doppel::verify {
namespace {

/// The operation that empties the cache next to the reader.
std::optional<CacheOp> first_cache(ReadPath path) {
  switch (path) {
    case ReadPath::Vector:
      return CacheOp::InvalidateVector;
    case ReadPath::Scalar:
      return CacheOp::InvalidateScalar;
    case ReadPath::Instruction:
      return CacheOp::InvalidateInstruction;
    case ReadPath::Host:
    case ReadPath::L2:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Whether writer and reader use different L2s, or one of them none.
bool beyond_l2(const Deed& writer, const CachedRead& read) {
  return writer.agent == Agent::Host || read.path == ReadPath::Host ||
         writer.gpu != read.reader->gpu;
}

}  // namespace

std::optional<CacheModel::Stale> CacheModel::read(const CachedRead& read) {
  const uint32_t gpu = read.reader->gpu;
  std::optional<Stale> stale;
  auto look = [&](CacheOp emptied_by, bool may_differ) {
    Contents& held = caches_[{gpu, emptied_by}];
    if (may_differ && !stale && is_outdated(held, read, {gpu, emptied_by})) {
      stale = Stale{emptied_by, gpu};
    }
    load(held, read);
  };
  const bool crosses = read.writer && read.cached_in_l2 && beyond_l2(*read.writer, read);
  if (crosses && read.writer->agent == Agent::Shader &&
      !read.past.shows(read.writer->gpu, CacheOp::WriteBackL2, read.writer->epoch)) {
    stale = Stale{CacheOp::WriteBackL2, read.writer->gpu};
  }
  if (const auto cache = first_cache(read.path)) look(*cache, true);
  if (read.path != ReadPath::Host && read.cached_in_l2) look(CacheOp::InvalidateL2, crosses);
  return stale;
}

/// Whether the cache may hold some of the bytes as they were before the writer wrote them.
bool CacheModel::is_outdated(const Contents& held, const CachedRead& read, CacheName cache) {
  auto at = held.upper_bound(read.begin);
  if (at != held.begin() && std::prev(at)->second.end > read.begin) --at;
  for (; at != held.end() && at->first < read.end; ++at) {
    const Piece& piece = at->second;
    if (piece.writer == read.writer) continue;
    if (!read.past.shows(cache.first, cache.second, piece.loaded_by->epoch)) return true;
  }
  return false;
}

/// Takes [begin, end) out.
void CacheModel::cut(Contents& held, uint64_t begin, uint64_t end) {
  auto at = held.upper_bound(begin);
  if (at != held.begin() && std::prev(at)->second.end > begin) --at;
  while (at != held.end() && at->first < end) {
    const auto [first, piece] = *at;
    at = held.erase(at);
    if (first < begin) held.insert_or_assign(first, Piece{begin, piece.loaded_by, piece.writer});
    if (piece.end > end) at = held.insert_or_assign(end, piece).first;
  }
}

void CacheModel::load(Contents& held, const CachedRead& read) {
  cut(held, read.begin, read.end);
  held.insert_or_assign(read.begin, Piece{read.end, read.reader, read.writer});
}

void CacheModel::forget(uint64_t begin, uint64_t end) {
  for (auto& [name, held] : caches_) cut(held, begin, end);
}

}  // namespace doppel::verify
