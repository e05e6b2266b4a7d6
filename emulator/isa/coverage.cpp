#include "emulator/isa/coverage.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/assert.h"

namespace doppel::isa {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kFamilyOrder = {GfxFamily::Gfx10_3, GfxFamily::Gfx11, GfxFamily::Gfx11_5};
constexpr std::array<const char*, 3> kFamilyNames = {"gfx10.3", "gfx11", "gfx11.5"};
constexpr size_t kTextColumns = 100;

size_t index_of_family(GfxFamily family) {
  const auto* found = std::ranges::find(kFamilyOrder, family);
  DOPPEL_ASSERT(found != kFamilyOrder.end(), "only families with rows execute");
  return static_cast<size_t>(found - kFamilyOrder.begin());
}

/// The rows a family has, and how often each was executed.
struct FamilyRows {
  GfxFamily family;
  const std::vector<uint64_t>& counts;

  template <class Visit>
  void visit(Visit visit) const {
    for (const Row& row : all_rows()) {
      if (row.opcode_in(family) != kAbsent) visit(row, counts[index_of(row)]);
    }
  }
};

/// Breaks a list of words into indented lines.
class WordList {
 public:
  void add(std::string_view word) {
    if (line_.size() + word.size() + 1 > kTextColumns) flush();
    line_ += fmt::format("{}{}", line_.empty() ? "    " : " ", word);
  }
  std::string take() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    if (!line_.empty()) text_ += line_ + '\n';
    line_.clear();
  }
  std::string line_, text_;
};

std::string text_of(const char* name, const FamilyRows& rows) {
  size_t total = 0, executed = 0;
  std::string counts;
  WordList missing;
  rows.visit([&](const Row& row, uint64_t count) {
    ++total;
    if (count == 0) {
      missing.add(row.name_in(rows.family));
    } else {
      ++executed;
      counts += fmt::format("    {:<8} {:<32} {:>14}\n", to_string(row.format),
                            row.name_in(rows.family), count);
    }
  });
  return fmt::format("{}: {} of {} rows executed\n{}  not executed:\n{}", name, executed, total,
                     counts, missing.take());
}

Json json_of(const FamilyRows& rows) {
  Json executed = Json::object(), missing = Json::array();
  size_t total = 0;
  rows.visit([&](const Row& row, uint64_t count) {
    ++total;
    const std::string name = fmt::format("{} {}", to_string(row.format), row.name_in(rows.family));
    if (count == 0) {
      missing.push_back(name);
    } else {
      executed[name] = count;
    }
  });
  return {{"rows", total}, {"executed", executed}, {"not_executed", missing}};
}

}  // namespace

void Coverage::add(GfxFamily family, std::span<const uint64_t> executed) {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t>& counts = counts_[index_of_family(family)];
  counts.resize(all_rows().size());
  DOPPEL_ASSERT(executed.size() == counts.size(), "one count a row");
  std::ranges::transform(counts, executed, counts.begin(), std::plus<>());
}

uint64_t Coverage::executed(GfxFamily family, const Row& row) const {
  const std::lock_guard lock(mutex_);
  const std::vector<uint64_t>& counts = counts_[index_of_family(family)];
  return counts.empty() ? 0 : counts[index_of(row)];
}

std::string Coverage::to_text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (size_t i = 0; i < kFamilies; ++i) {
    if (!counts_[i].empty()) text += text_of(kFamilyNames[i], {kFamilyOrder[i], counts_[i]});
  }
  return text.empty() ? "no instruction was executed\n" : text;
}

std::string Coverage::to_json() const {
  const std::lock_guard lock(mutex_);
  Json report = Json::object();
  for (size_t i = 0; i < kFamilies; ++i) {
    if (!counts_[i].empty()) report[kFamilyNames[i]] = json_of({kFamilyOrder[i], counts_[i]});
  }
  return report.dump(1) + '\n';
}

Result<> Coverage::write(const std::filesystem::path& path) const {
  if (path == "-") {
    fmt::print("{}", to_text());
    return {};
  }
  std::ofstream file(path);
  file << (path.extension() == ".json" ? to_json() : to_text());
  if (!file.flush()) {
    return error(StatusCode::System,
                 fmt::format("The coverage report can't be written ({}).", path.string()));
  }
  return {};
}

}  // namespace doppel::isa
