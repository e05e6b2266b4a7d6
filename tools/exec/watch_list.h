// WatchList: who wrote the watched bytes, access by access. An AccessListener.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/memory/access_log.h"

namespace doppel::exec {

/// One store or atomic that covers a watched byte.
struct WatchHit {
  uint64_t pc = 0;
  uint32_t wave = 0;  // of the dispatch
  uint32_t lane = 0;
  bool atomic = false;
};

struct Watch {
  uint64_t va = 0;
  std::string text;  // as it was asked for
  uint64_t writes = 0;
  uint64_t reads = 0;
  std::optional<WatchHit> last;
};

class WatchList final : public emu::AccessListener {
 public:
  void add(uint64_t va, std::string text) { watches_.push_back({va, std::move(text), 0, 0, {}}); }
  const std::vector<Watch>& watches() const { return watches_; }

  void on_lanes(uint64_t pc, uint32_t wave, uint32_t first_lane, const uint64_t* va, uint32_t exec,
                uint32_t size, emu::AccessMode mode) override {
    if (watches_.empty()) return;
    for (uint32_t lane = 0; exec != 0; ++lane, exec >>= 1) {
      if (exec & 1) on_range(pc, wave, first_lane + lane, va[lane], size, mode);
    }
  }
  void on_range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
                emu::AccessMode mode) override {
    const bool reads = mode == emu::AccessMode::Read || mode == emu::AccessMode::ScalarRead;
    for (Watch& watch : watches_) {
      if (watch.va < va || watch.va - va >= size) continue;
      ++(reads ? watch.reads : watch.writes);
      if (!reads) watch.last = WatchHit{pc, wave, lane, mode == emu::AccessMode::Atomic};
    }
  }

 private:
  std::vector<Watch> watches_;
};

}  // namespace doppel::exec
