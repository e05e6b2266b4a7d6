// The rules of lint.inc, as data and as a check of one packet. A rule has a name to suppress it by,
// a severity, a reason and a hint. Findings are Problems of kind Lint.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/packets/packet.h"

namespace doppel::packets {

struct LintRule {
  std::string_view name;  // "pm4-ib-without-valid"; two packets may share a rule
  Severity severity = Severity::Warning;
  const PacketRow* row = nullptr;
  std::string_view reason;  // full sentence: what happens
  std::string_view hint;    // full sentence: what to do instead
  bool (*matches)(const Packet& packet) = nullptr;
};

/// All rules, in the order of lint.inc.
std::span<const LintRule> lint_rules();

/// Appends a finding for every rule that the packet breaks. Says nothing of a malformed packet.
void lint(const Packet& packet, std::vector<Problem>& problems);

}  // namespace doppel::packets
