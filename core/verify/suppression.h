// Suppressions: findings that a project accepts. One a line:
//
//   RULE [WHERE] # reason
//
// RULE is a rule's name, or a category's ("lint"), or "*"; WHERE is text that the finding's report
// contains (a queue, a packet, a kernel, a buffer). The reason is mandatory: whoever reads the
// report wants to know why it is silent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/verify/rule.h"

namespace doppel::verify {

struct Suppression {
  std::string rule;
  std::string where;  // "" : everywhere
  std::string reason;
  mutable uint64_t used = 0;  // findings that it has silenced

  bool applies(const Rule& to, std::string_view report) const;
};

class Suppressions {
 public:
  /// InvalidArgument, naming the line, for one without a reason or with an unknown rule.
  static Result<Suppressions> parse(std::string_view text);

  void add(Suppression suppression) { all_.push_back(std::move(suppression)); }
  void add(const Suppressions& others);

  /// The first that applies, or nullptr; counts its use.
  const Suppression* find(const Rule& rule, std::string_view report) const;

  const std::vector<Suppression>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

 private:
  std::vector<Suppression> all_;
};

}  // namespace doppel::verify
