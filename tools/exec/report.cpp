#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "emulator/profile/summary.h"
#include "tools/exec/sandbox.h"

namespace doppel::exec {
namespace {

using Json = nlohmann::ordered_json;
using namespace profile;

/// Different bytes that were touched so; reads of what the kernel itself had written are left out.
uint64_t unique_bytes(const emu::AccessLog& log, emu::AccessMode mode) {
  uint64_t bytes = 0;
  for (const uint64_t number : log.page_numbers()) {
    const emu::AccessLog::Page& page = log.page(number);
    for (size_t line = 0; line < emu::AccessLog::kLines; ++line) {
      switch (mode) {
        case emu::AccessMode::Read:
          bytes += std::popcount(page.read[line]);
          break;
        case emu::AccessMode::ScalarRead:
          bytes += std::popcount(page.scalar_read[line]);
          break;
        case emu::AccessMode::Write:
          bytes += std::popcount(page.written[line] & ~page.atomic[line]);
          break;
        case emu::AccessMode::Atomic:
          bytes += std::popcount(page.atomic[line]);
          break;
      }
    }
  }
  return bytes;
}

std::string dimensions(const Dim3& dims) {
  return fmt::format("{}x{}x{}", dims.x, dims.y, dims.z);
}

std::string print_results(const Outcome& outcome) {
  std::string text;
  for (const BufferResult& buffer : outcome.buffers) {
    if (!buffer.spec.print) continue;
    text += fmt::format(
        "{}: {}\n", buffer.name,
        print_elements(buffer.content, buffer.spec.print_type, buffer.spec.print_count));
  }
  return text;
}

std::string print_watch(const WatchResult& result) {
  const Watch& watch = result.watch;
  const std::string value =
      result.value ? fmt::format(", now {:#04x}", *result.value) : std::string();
  if (!watch.last) {
    return fmt::format(
        "{}{}: the kernel does not write it ({} reads); what is there is the host's\n", watch.text,
        value, watch.reads);
  }
  return fmt::format(
      "{}{}: written last by wave {}, lane {} at +{:#x}: {}\n  ({} writes, {} reads "
      "by the kernel)\n",
      watch.text, value, watch.last->wave, watch.last->lane, result.pc_offset, result.instruction,
      watch.writes, watch.reads);
}

std::string print_mix(const KernelProfile& profile) {
  std::string text = fmt::format("instructions  {} executed by waves\n", profile.executions());
  for (size_t i = 0; i < kUnits; ++i) {
    const auto unit = static_cast<Unit>(i);
    if (const uint64_t count = profile.executions(unit)) {
      text += fmt::format("  {:<14} {:>12}\n", to_string(unit), count);
    }
  }
  text += "mix\n";
  for (const auto& [mnemonic, count] : mix_of(profile)) {
    text += fmt::format("  {:<28} {:>12}\n", mnemonic, count);
  }
  return text;
}

std::string print_traffic(const Outcome& outcome) {
  std::string text = fmt::format("memory        {:>12} {:>14} {:>14} {:>14}\n", "accesses", "bytes",
                                 "unique bytes", "64-byte lines");
  for (const emu::AccessMode mode : kModes) {
    const Traffic& traffic = outcome.profile.traffic(mode);
    if (traffic.accesses == 0) continue;
    text += fmt::format("  {:<11} {:>12} {:>14} {:>14} {:>14}\n", profile::to_string(mode),
                        traffic.accesses, traffic.bytes, unique_bytes(outcome.accesses, mode),
                        traffic.lines);
  }
  return text;
}

std::string print_sites(const Outcome& outcome) {
  std::string text = fmt::format("{:>8} {:>10} {:>7} {:>10}  {}\n", "pc", "executed", "lanes",
                                 "conflicts", "instruction");
  for (const auto& [pc, site] : outcome.profile.sites()) {
    const std::string lanes =
        site.all_lanes == 0 ? "" : fmt::format("{}%", 100 * site.active_lanes / site.all_lanes);
    const std::string conflicts =
        site.unit == Unit::Lds ? fmt::format("{}", site.bank_conflict) : "";
    text +=
        fmt::format("{:>8} {:>10} {:>7} {:>10}  {}\n", fmt::format("+{:#x}", pc - outcome.entry),
                    site.executions, lanes, conflicts, site.text);
  }
  return text;
}

}  // namespace

std::string to_text(const Outcome& outcome, bool annotate) {
  std::string text =
      fmt::format("kernel {} ({}) on {}: {} workgroups of {}\n", outcome.kernel, outcome.target,
                  outcome.device, dimensions(outcome.grid), dimensions(outcome.workgroup));
  if (outcome.failure) text += fmt::format("FAILED: {}\n", outcome.failure->to_string());
  text += print_results(outcome);
  for (const WatchResult& watch : outcome.watches) text += print_watch(watch);
  text += print_mix(outcome.profile);
  text += print_traffic(outcome);
  const Lanes lanes = lanes_of(outcome.profile);
  text += fmt::format(
      "divergence    {:.1f}% of lanes on; {} of {} vector instructions with some "
      "lanes off, {} with all off\n",
      lanes.percent(), lanes.partial, lanes.executions, lanes.idle);
  const Banks banks = banks_of(outcome.profile);
  text += fmt::format("lds           {} accesses, {} cycles, {} more by bank conflicts\n",
                      banks.accesses, banks.needed, banks.conflict);
  if (outcome.lds_out_of_range != 0) {
    text += fmt::format("              {} of them beyond the LDS of their workgroup\n",
                        outcome.lds_out_of_range);
  }
  if (annotate) text += print_sites(outcome);
  return text;
}

std::string to_json(const Outcome& outcome) {
  const Lanes lanes = lanes_of(outcome.profile);
  const Banks banks = banks_of(outcome.profile);
  Json json{{"kernel", outcome.kernel},
            {"target", outcome.target},
            {"device", outcome.device},
            {"grid", outcome.grid.array()},
            {"workgroup", outcome.workgroup.array()},
            {"failure", outcome.failure ? Json(outcome.failure->to_string()) : Json()},
            {"wave_instructions", outcome.profile.executions()}};
  for (const BufferResult& buffer : outcome.buffers) {
    if (!buffer.spec.print) continue;
    json["results"][buffer.name] =
        print_elements(buffer.content, buffer.spec.print_type, buffer.spec.print_count);
  }
  for (const auto& [mnemonic, count] : mix_of(outcome.profile)) json["mix"][mnemonic] = count;
  for (const emu::AccessMode mode : kModes) {
    const Traffic& traffic = outcome.profile.traffic(mode);
    json["memory"][profile::to_string(mode)] = {
        {"accesses", traffic.accesses},
        {"bytes", traffic.bytes},
        {"unique_bytes", unique_bytes(outcome.accesses, mode)},
        {"lines", traffic.lines}};
  }
  json["divergence"] = {{"vector_instructions", lanes.executions},
                        {"active_lanes", lanes.active},
                        {"all_lanes", lanes.all},
                        {"partial", lanes.partial},
                        {"idle", lanes.idle}};
  json["lds"] = {
      {"accesses", banks.accesses}, {"cycles", banks.needed}, {"conflict_cycles", banks.conflict}};
  json["watches"] = Json::array();
  for (const WatchResult& result : outcome.watches) {
    Json row{{"address", result.watch.text},
             {"writes", result.watch.writes},
             {"reads", result.watch.reads}};
    if (result.value) row["value"] = *result.value;
    if (result.watch.last) {
      row["wave"] = result.watch.last->wave;
      row["lane"] = result.watch.last->lane;
      row["pc"] = result.pc_offset;
      row["instruction"] = result.instruction;
    }
    json["watches"].push_back(std::move(row));
  }
  json["sites"] = Json::array();
  for (const auto& [pc, site] : outcome.profile.sites()) {
    json["sites"].push_back({{"pc", pc - outcome.entry},
                             {"text", site.text},
                             {"executions", site.executions},
                             {"active_lanes", site.active_lanes},
                             {"all_lanes", site.all_lanes},
                             {"conflict_cycles", site.bank_conflict}});
  }
  return json.dump(2);
}

}  // namespace doppel::exec
