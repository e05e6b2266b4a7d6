#include "emulator/verify/sync_words.h"

namespace doppel::verify {

bool WordCondition::holds(uint64_t word) const {
  uint64_t value = word;
  if (!is_64) value = static_cast<uint32_t>(word >> (address % 8 == 4 ? 32 : 0));
  const uint64_t bias = is_signed ? uint64_t{1} << 63 : 0;
  return emu::passes(compare, (value & mask) ^ bias, reference ^ bias);
}

WordCondition condition_of(const HostWait& wait, uint64_t host) {
  static constexpr emu::Compare kCompare[] = {emu::Compare::GreaterEqual, emu::Compare::Equal,
                                              emu::Compare::NotEqual, emu::Compare::Less};
  return {.address = host,
          .reference = static_cast<uint64_t>(wait.wanted),
          .compare = kCompare[static_cast<size_t>(wait.condition)],
          .is_64 = true,
          .is_signed = true};
}

uint64_t word_at(uint64_t host) {
  return *reinterpret_cast<const uint64_t*>(SyncWords::word_of(host));
}

const SyncWords::Word* SyncWords::find(uint64_t address) const {
  const auto found = words_.find(word_of(address));
  return found == words_.end() ? nullptr : &found->second;
}

bool SyncWords::any_in(uint64_t begin, uint64_t end) const {
  const auto at = words_.lower_bound(word_of(begin));
  return at != words_.end() && at->first < end;
}

SyncWords::Word& SyncWords::watch(uint64_t address, uint64_t value, const Past& host) {
  Word& word = at(address);
  if (word.writes.empty()) {
    word.earlier_value = value;
    word.known = true;
  } else if (word.writes.back().value != value) {
    word.writes.push_back({value, 0, 8, host, nullptr});
  }
  return word;
}

void SyncWords::write(uint64_t address, uint64_t size, uint64_t value, const Past& past,
                      DeedRef deed, bool atomic) {
  signalled_.join(past);
  Word& word = at(address);
  SyncWrite write{value, address % 8, size, past, std::move(deed)};
  if (atomic && !word.writes.empty()) write.past.join(word.writes.back().past);
  if (word.writes.size() >= kHistory) {
    word.earlier_value = word.writes.front().value;
    word.known = true;
    word.writes.pop_front();
  }
  word.writes.push_back(std::move(write));
}

const SyncWrite* SyncWords::wait(const WordCondition& condition, Past& past) {
  Word& word = at(condition.address);
  word.waited = true;
  const SyncWrite* earliest = nullptr;
  for (auto write = word.writes.rbegin(); write != word.writes.rend(); ++write) {
    if (!condition.holds(write->value)) break;
    earliest = &*write;
  }
  if (!earliest) return nullptr;
  // The value before the oldest write may have satisfied the wait already: nothing is proven then.
  if (earliest == &word.writes.front() && word.known && condition.holds(word.earlier_value)) {
    return nullptr;
  }
  past.join(earliest->past);
  return earliest;
}

void SyncWords::load(uint64_t address, Past& past) {
  const Word* word = find(address);
  if (word && !word->writes.empty()) past.join(word->writes.back().past);
}

void SyncWords::forget(uint64_t begin, uint64_t end) {
  words_.erase(words_.lower_bound(word_of(begin)), words_.lower_bound(end));
}

}  // namespace doppel::verify
