// IdTable: objects by small numbers, the lowest free one first, as the kernel's idr hands them out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace doppel::mock {

template <class T>
class IdTable {
 public:
  /// Takes the lowest free number in [first, end); nullopt if there is none.
  template <class... Arguments>
  std::optional<uint32_t> emplace(uint32_t first, uint64_t end, Arguments&&... arguments) {
    uint64_t id = first;
    for (auto entry = entries_.lower_bound(first); entry != entries_.end() && entry->first == id;
         ++entry)
      ++id;
    if (id >= end) return std::nullopt;
    entries_.try_emplace(static_cast<uint32_t>(id), std::forward<Arguments>(arguments)...);
    return static_cast<uint32_t>(id);
  }

  T* find(uint32_t id) {
    auto entry = entries_.find(id);
    return entry == entries_.end() ? nullptr : &entry->second;
  }
  void erase(uint32_t id) { entries_.erase(id); }
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::map<uint32_t, T> entries_;
};

}  // namespace doppel::mock
