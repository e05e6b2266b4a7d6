#include "emulator/memory/access_log.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace doppel::emu {
namespace {

/// `count` (1 to 64) bits from `first` on.
constexpr uint64_t bit_range(uint64_t first, uint64_t count) {
  return (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
}

}  // namespace

AccessLog::Page& AccessLog::find(uint64_t number) {
  if (number == last_number_) return *last_page_;
  std::unique_ptr<Page>& page = pages_[number];
  if (!page) page = std::make_unique<Page>();
  last_number_ = number;
  last_page_ = page.get();
  return *page;
}

uint16_t AccessLog::site(uint64_t pc) {
  if (pc == last_pc_) return last_site_;
  const auto [entry, added] = site_of_.try_emplace(pc, 0);
  if (added && sites_.size() <= std::numeric_limits<uint16_t>::max()) {
    entry->second = static_cast<uint16_t>(sites_.size());
    sites_.push_back(pc);
  }
  last_pc_ = pc;
  last_site_ = entry->second;
  return last_site_;
}

void AccessLog::mark(Page& page, uint64_t first, uint64_t bytes, AccessMode mode,
                     Page::Origin origin) {
  while (bytes != 0) {
    const uint64_t line = first / kLineBytes;
    const uint64_t part = std::min(bytes, kLineBytes - first % kLineBytes);
    const uint64_t bits = bit_range(first % kLineBytes, part);
    switch (mode) {
      case AccessMode::Read:
        page.read[line] |= bits & ~page.written[line];
        page.reader[line] = origin;
        break;
      case AccessMode::ScalarRead:
        page.scalar_read[line] |= bits & ~page.written[line];
        page.reader[line] = origin;
        break;
      case AccessMode::Write:
        page.written[line] |= bits;
        page.atomic[line] &= ~bits;
        page.writer[line] = origin;
        break;
      case AccessMode::Atomic:
        page.atomic[line] |= bits & ~page.written[line];
        page.written[line] |= bits;
        page.writer[line] = origin;
        break;
    }
    first += part;
    bytes -= part;
  }
}

void AccessLog::range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
                      AccessMode mode) {
  if (listener_ != nullptr) listener_->on_range(pc, wave, lane, va, size, mode);
  mark_range(pc, wave, lane, va, size, mode);
}

void AccessLog::mark_range(uint64_t pc, uint32_t wave, uint32_t lane, uint64_t va, uint64_t size,
                           AccessMode mode) {
  const Page::Origin origin{wave, site(pc), static_cast<uint8_t>(lane)};
  while (size != 0) {
    const uint64_t part = std::min(size, kPageBytes - va % kPageBytes);
    mark(find(va / kPageBytes), va % kPageBytes, part, mode, origin);
    va += part;
    size -= part;
  }
}

void AccessLog::lanes(uint64_t pc, uint32_t wave, uint32_t first_lane, const uint64_t* va,
                      uint32_t exec, uint32_t size, AccessMode mode) {
  if (listener_ != nullptr) listener_->on_lanes(pc, wave, first_lane, va, exec, size, mode);
  while (exec != 0) {
    const auto first = static_cast<uint32_t>(std::countr_zero(exec));
    uint64_t end = va[first];
    // Lanes whose bytes follow one another are one range.
    for (uint32_t lane = first; lane < 32 && (exec >> lane & 1) && va[lane] == end; ++lane) {
      end += size;
      exec &= exec - 1;
    }
    mark_range(pc, wave, first_lane + first, va[first], end - va[first], mode);
  }
}

void AccessLog::merge(const AccessLog& other) {
  for (const auto& [number, theirs] : other.pages_) {
    Page& mine = find(number);
    auto renumber = [&](Page::Origin origin) {
      origin.site = site(other.sites_[origin.site]);
      return origin;
    };
    for (size_t line = 0; line < kLines; ++line) {
      mine.atomic[line] = (mine.atomic[line] & ~(theirs->written[line] & ~theirs->atomic[line])) |
                          (theirs->atomic[line] & ~(mine.written[line] & ~mine.atomic[line]));
      mine.read[line] |= theirs->read[line];
      mine.scalar_read[line] |= theirs->scalar_read[line];
      if (theirs->read[line] | theirs->scalar_read[line]) {
        mine.reader[line] = renumber(theirs->reader[line]);
      }
      mine.written[line] |= theirs->written[line];
      if (theirs->written[line]) mine.writer[line] = renumber(theirs->writer[line]);
    }
  }
}

std::vector<uint64_t> AccessLog::page_numbers() const {
  std::vector<uint64_t> numbers;
  numbers.reserve(pages_.size());
  for (const auto& [number, page] : pages_) numbers.push_back(number);
  std::ranges::sort(numbers);
  return numbers;
}

AccessOrigin AccessLog::origin(uint64_t va, bool write) const {
  const auto found = pages_.find(va / kPageBytes);
  if (found == pages_.end()) return {};
  const size_t line = va % kPageBytes / kLineBytes;
  const Page::Origin& origin = write ? found->second->writer[line] : found->second->reader[line];
  return {sites_[origin.site], origin.wave, origin.lane};
}

}  // namespace doppel::emu
