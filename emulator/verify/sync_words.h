// SyncWords: the words by which queues, engines and the host wait for one another, with the recent
// writes of each: the value, and the past that the writer published with it.
//
// A wait is ordered after what it *proves*, which is less than what happened: if the word held a
// value that satisfies the wait ever since some write, the wait proves no more than that write, and
// may have passed before the later ones. So a wait joins the past of the earliest write from which
// on the word satisfied it.
//
// Words are named by host address, aligned to 8 bytes; a 32-bit signal is half a word.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "core/verify/host_observer.h"
#include "emulator/packet_outcome.h"
#include "emulator/verify/deed.h"
#include "emulator/verify/past.h"

namespace doppel::verify {

inline constexpr uint64_t kSignalBytes = 8;  // stores up to this size may be signals

struct SyncWrite {
  uint64_t value = 0;  // of the whole aligned 8 bytes
  uint64_t first = 0;  // bytes [first, first + size) of the word were written
  uint64_t size = 0;
  Past past;     // what the writer had done
  DeedRef deed;  // who wrote
};

/// A comparison of a word's half, or of all of it, by host address.
struct WordCondition {
  uint64_t address = 0;
  uint64_t reference = 0;
  uint64_t mask = ~uint64_t{0};
  emu::Compare compare = emu::Compare::Always;
  bool is_64 = false;
  bool is_signed = false;

  bool holds(uint64_t word) const;  // of the aligned 8 bytes
};

/// The host's wait, of the signal value whose host address is `word`.
WordCondition condition_of(const HostWait& wait, uint64_t word);

/// What the aligned 8 bytes around `host` hold now.
uint64_t word_at(uint64_t host);

class SyncWords {
 public:
  /// Writes of one word that are remembered.
  static constexpr size_t kHistory = 64;

  struct Word {
    bool waited = false;         // somebody has waited for it
    uint64_t earlier_value = 0;  // before the first remembered write
    bool known = false;          // earlier_value has been seen
    std::deque<SyncWrite> writes;
  };

  static constexpr uint64_t word_of(uint64_t address) { return address & ~uint64_t{7}; }

  /// The write, of the bytes at `address`, after which the aligned word holds `value`. `atomic`: it
  /// read the word too, and so publishes what earlier writers had published.
  void write(uint64_t address, uint64_t size, uint64_t value, const Past& past, DeedRef deed,
             bool atomic);

  /// A wait for `condition` has passed: what it proves is joined to `past`. Returns the write that
  /// it rests on, or nullptr if the word's first value satisfied it.
  const SyncWrite* wait(const WordCondition& condition, Past& past);

  /// The word has been read: the last write's past is joined.
  void load(uint64_t address, Past& past);

  /// What all writes so far have published together.
  const Past& signalled() const { return signalled_; }

  /// Marks the word as one that synchronizes, so that kernels' stores to it count. `value`: what
  /// it holds now. If that is not what the last write left, the host has stored to it unseen, and
  /// the store is taken to be `host`'s.
  Word& watch(uint64_t address, uint64_t value, const Past& host);
  const Word* find(uint64_t address) const;
  bool any_in(uint64_t begin, uint64_t end) const;
  template <class Visit>
  void visit(uint64_t begin, uint64_t end, Visit&& visit) {
    for (auto at = words_.lower_bound(word_of(begin)); at != words_.end() && at->first < end; ++at)
      visit(at->first, at->second);
  }

  void forget(uint64_t begin, uint64_t end);

 private:
  Word& at(uint64_t address) { return words_[word_of(address)]; }

  std::map<uint64_t, Word> words_;
  Past signalled_;
};

}  // namespace doppel::verify
