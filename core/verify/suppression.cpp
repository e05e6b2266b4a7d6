#include "core/verify/suppression.h"

#include <fmt/format.h>

#include <algorithm>

namespace doppel::verify {
namespace {

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_known(std::string_view rule) {
  if (rule == "*" || find_rule(rule)) return true;
  return std::ranges::any_of(rules(), [&](const Rule& r) { return to_string(r.category) == rule; });
}

Result<Suppression> parse_line(std::string_view line) {
  const size_t hash = line.find('#');
  const std::string_view reason = hash == line.npos ? "" : trim(line.substr(hash + 1));
  const std::string_view what = trim(line.substr(0, hash));
  const size_t space = std::min(what.find_first_of(" \t"), what.size());
  Suppression suppression{std::string(what.substr(0, space)), std::string(trim(what.substr(space))),
                          std::string(reason)};
  if (reason.empty()) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("A suppression says why, behind a # ({}).", line));
  }
  if (!is_known(suppression.rule)) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("No rule or category has this name ({}).", suppression.rule));
  }
  return suppression;
}

}  // namespace

bool Suppression::applies(const Rule& to, std::string_view report) const {
  if (rule != "*" && rule != to.name && rule != to_string(to.category)) return false;
  return where.empty() || report.contains(where);
}

Result<Suppressions> Suppressions::parse(std::string_view text) {
  Suppressions result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    DOPPEL_ASSIGN(Suppression suppression, parse_line(line));
    result.add(std::move(suppression));
  }
  return result;
}

void Suppressions::add(const Suppressions& others) {
  all_.insert(all_.end(), others.all_.begin(), others.all_.end());
}

const Suppression* Suppressions::find(const Rule& rule, std::string_view report) const {
  for (const Suppression& suppression : all_) {
    if (!suppression.applies(rule, report)) continue;
    ++suppression.used;
    return &suppression;
  }
  return nullptr;
}

}  // namespace doppel::verify
