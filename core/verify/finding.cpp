#include "core/verify/finding.h"

#include <fmt/format.h>

#include <algorithm>

namespace doppel::verify {
namespace {

void line(std::string& text, std::string_view label, std::string_view value) {
  if (value.empty()) return;
  fmt::format_to(std::back_inserter(text), "  {:<9}{}\n", fmt::format("{}:", label), value);
}

std::string join_reports(const std::vector<const Finding*>& findings) {
  std::string text;
  for (const Finding* finding : findings) text += finding->to_string() + "\n";
  return text;
}

}  // namespace

std::string Culprit::to_string() const {
  std::string text = actor;
  if (!action.empty()) text += ", " + action;
  if (!place.empty()) text += " " + place;
  if (!node.empty()) fmt::format_to(std::back_inserter(text), ", node \"{}\"", node);
  if (kernel) {
    fmt::format_to(std::back_inserter(text), ", kernel {}", kernel->kernel);
    if (kernel->pc != 0) {
      fmt::format_to(std::back_inserter(text), " pc 0x{:x} (+0x{:x}) wave {} lane {}", kernel->pc,
                     kernel->pc_offset, kernel->wave, kernel->lane);
    }
  }
  if (!role.empty()) text += ": " + role;
  return text;
}

std::string BufferRange::to_string() const {
  return fmt::format("{}+0x{:x}, {} byte{} (va 0x{:x})", buffer, offset, size, size == 1 ? "" : "s",
                     va);
}

std::string Finding::to_string() const {
  const Rule& about = info();
  std::string text =
      fmt::format("{}: {}: {}\n", packets::to_string(about.severity), about.name, message);
  static constexpr std::string_view kOrdinals[] = {"first", "second", "third"};
  for (size_t i = 0; i < culprits.size(); ++i) {
    line(text, culprits.size() == 1 ? "by" : (i < 3 ? kOrdinals[i] : "also"),
         culprits[i].to_string());
    line(text, "packet", culprits[i].packet);
  }
  if (range) line(text, "bytes", range->to_string());
  line(text, "missing", missing);
  line(text, "fix", fix.empty() ? about.fix : std::string_view(fix));
  if (count > 1) line(text, "seen", fmt::format("{} times", count));
  return text;
}

std::string Finding::key() const {
  std::string text(info().name);
  for (const Culprit& culprit : culprits) {
    fmt::format_to(std::back_inserter(text), "|{}|{}|{}|{}", culprit.actor, culprit.action,
                   culprit.place, culprit.role);
  }
  if (culprits.empty()) text += message;
  if (range) text += "|" + range->buffer;
  return text;
}

void FindingLog::add(Finding finding) {
  const std::string key = finding.key();
  if (const auto found = known_.find(key); found != known_.end()) {
    const Place& place = found->second;
    ++(place.suppressed ? suppressed_[place.index].finding : findings_[place.index]).count;
    return;
  }
  if (!suppressions_.empty()) {
    if (const Suppression* why = suppressions_.find(finding.info(), finding.to_string())) {
      known_.emplace(key, Place{true, suppressed_.size()});
      suppressed_.push_back({std::move(finding), why->reason});
      return;
    }
  }
  if (findings_.size() >= kMaxFindings) {
    ++dropped_;
    return;
  }
  known_.emplace(key, Place{false, findings_.size()});
  findings_.push_back(std::move(finding));
}

size_t FindingLog::count(RuleId rule) const {
  return static_cast<size_t>(std::ranges::count(findings_, rule, &Finding::rule));
}

const Finding* FindingLog::find(RuleId rule) const {
  const auto found = std::ranges::find(findings_, rule, &Finding::rule);
  return found == findings_.end() ? nullptr : &*found;
}

void FindingLog::clear() {
  findings_.clear();
  suppressed_.clear();
  known_.clear();
  dropped_ = 0;
}

std::string FindingLog::to_string() const {
  if (findings_.empty()) return {};
  std::vector<const Finding*> sorted;
  for (const Finding& finding : findings_) sorted.push_back(&finding);
  std::ranges::stable_sort(sorted, std::greater{}, [](const Finding* f) { return f->severity(); });
  std::string text = join_reports(sorted);
  fmt::format_to(std::back_inserter(text), "{} finding{}", findings_.size(),
                 findings_.size() == 1 ? "" : "s");
  if (!suppressed_.empty()) {
    fmt::format_to(std::back_inserter(text), ", {} suppressed", suppressed_.size());
  }
  if (dropped_ != 0) fmt::format_to(std::back_inserter(text), ", {} more not kept", dropped_);
  return text + ".\n";
}

}  // namespace doppel::verify
