// CacheModel: which bytes each cache of each GPU may hold, and of which write. Says of a read that
// is ordered after its write whether the bytes are sure to be the write's: the cache in between may
// still hold older ones, or the write may still be in another GPU's L2.
//
// A cache holds what was read through it since its last invalidation, and nothing else: whole lines
// and prefetching are not modelled, so that only bytes that were really read before are called
// stale. Loads that bypass a cache (GLC) count as through it. Memory that caches don't keep
// (coherent, uncached) is never stale in an L2.
//
// Bytes are named by host address. O(log n + k) a read, with n the pieces that a cache holds and k
// those that the read meets. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "emulator/verify/deed.h"
#include "emulator/verify/past.h"

namespace doppel::verify {

/// What stands between a reader and the bytes, besides the L2 of its GPU.
enum class ReadPath : uint8_t {
  Host,         // no cache of a GPU
  L2,           // command processor, SDMA
  Vector,       // GL0 and GL1, TCP on gfx9.4
  Scalar,       // K$
  Instruction,  // I$
};

/// A read of bytes of one writer.
struct CachedRead {
  const Past& past;  // of the reader
  const DeedRef& reader;
  ReadPath path = ReadPath::Host;
  uint64_t begin = 0, end = 0;  // host addresses
  const DeedRef& writer;        // nullptr: nobody that is known
  bool cached_in_l2 = true;     // not coherent, not uncached
};

class CacheModel {
 public:
  /// The missing operation, if the read may see older bytes; on the GPU that it has to be done on.
  struct Stale {
    CacheOp missing;
    uint32_t gpu = 0;
  };

  /// Judges the read, and remembers what the caches hold after it.
  std::optional<Stale> read(const CachedRead& read);

  /// Forgets the bytes: the memory has been given back.
  void forget(uint64_t begin, uint64_t end);

 private:
  struct Piece {
    uint64_t end = 0;
    DeedRef loaded_by;  // who read it last
    DeedRef writer;     // whose bytes it holds
  };
  using Contents = std::map<uint64_t, Piece>;      // by first byte, without overlap
  using CacheName = std::pair<uint32_t, CacheOp>;  // GPU, and the operation that empties it

  static bool is_outdated(const Contents& held, const CachedRead& read, CacheName cache);
  static void cut(Contents& held, uint64_t begin, uint64_t end);
  static void load(Contents& held, const CachedRead& read);

  std::map<CacheName, Contents> caches_;
};

}  // namespace doppel::verify
