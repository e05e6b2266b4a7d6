#include "backends/report/page.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/report/page_files.h"
#include "backends/report/timeline.h"
#include "emulator/profile/summary.h"

namespace doppel::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxSites = 2000;  // instructions of a kernel that are listed

Json spans_of(const Run& run, uint64_t origin) {
  Json spans = Json::array();
  for (const Span& span : run.spans) {
    spans.push_back({{"kind", to_string(span.kind)},
                     {"actor", span.actor},
                     {"track", span.track},
                     {"begin", span.begin_ns - origin},
                     {"end", span.end_ns - origin},
                     {"name", span.name},
                     {"detail", span.detail}});
  }
  return spans;
}

Json arrows_of(const Run& run, uint64_t origin) {
  Json arrows = Json::array();
  for (const Arrow& arrow : run.arrows) {
    arrows.push_back({{"from", arrow.from},
                      {"to", arrow.to},
                      {"from_ns", arrow.from_ns - origin},
                      {"to_ns", arrow.to_ns - origin},
                      {"text", arrow.text}});
  }
  return arrows;
}

Json nodes_of(const Run& run, uint64_t origin) {
  Json nodes = Json::array();
  for (const Node& node : run.nodes) {
    nodes.push_back({{"kind", to_string(node.kind)},
                     {"actor", node.actor},
                     {"name", node.name},
                     {"place", node.place},
                     {"detail", node.detail},
                     {"begin", node.begin_ns - origin},
                     {"end", node.end_ns - origin}});
  }
  return nodes;
}

Json edges_of(const Run& run) {
  Json edges = Json::array();
  for (const Edge& edge : run.edges) {
    edges.push_back(
        {{"from", edge.from}, {"to", edge.to}, {"kind", to_string(edge.kind)}, {"how", edge.how}});
  }
  return edges;
}

/// The work that the finding's culprits did.
Json culprit_nodes(const Run& run, const verify::Finding& finding) {
  Json numbers = Json::array();
  for (const verify::Culprit& culprit : finding.culprits) {
    const uint32_t actor = run.actor_named(culprit.actor);
    const auto found = std::ranges::find_if(run.nodes, [&](const Node& node) {
      return actor != kHost && node.actor == actor && node.place == culprit.place;
    });
    if (found != run.nodes.end()) numbers.push_back(found - run.nodes.begin());
  }
  return numbers;
}

Json findings_of(const Run& run) {
  Json findings = Json::array();
  for (const verify::Finding& finding : run.findings) {
    findings.push_back({{"severity", to_string(finding.severity())},
                        {"rule", finding.info().name},
                        {"text", finding.to_string()},
                        {"nodes", culprit_nodes(run, finding)}});
  }
  return findings;
}

/// Executions by unit, memory by kind of access, lanes, LDS and each instruction.
void add_counters(Json& kernel, const profile::KernelProfile& counters, uint64_t program) {
  kernel["instructions"] = counters.executions();
  for (size_t i = 0; i < profile::kUnits; ++i) {
    const auto unit = static_cast<profile::Unit>(i);
    if (const uint64_t count = counters.executions(unit)) {
      kernel["units"].push_back({profile::to_string(unit), count});
    }
  }
  for (const auto& [mnemonic, count] : profile::mix_of(counters)) {
    kernel["mix"].push_back({mnemonic, count});
  }
  for (const emu::AccessMode mode : profile::kModes) {
    const profile::Traffic& traffic = counters.traffic(mode);
    if (traffic.accesses == 0) continue;
    kernel["memory"].push_back(
        {profile::to_string(mode), traffic.accesses, traffic.bytes, traffic.lines});
  }
  const profile::Lanes lanes = profile::lanes_of(counters);
  kernel["lanes"] = {{"percent", lanes.percent()},
                     {"executions", lanes.executions},
                     {"partial", lanes.partial},
                     {"idle", lanes.idle}};
  const profile::Banks banks = profile::banks_of(counters);
  kernel["lds"] = {
      {"accesses", banks.accesses}, {"needed", banks.needed}, {"conflict", banks.conflict}};
  for (const auto& [pc, site] : counters.sites()) {
    if (kernel["sites"].size() == kMaxSites) break;
    const std::string lanes_on =
        site.all_lanes == 0 ? "" : fmt::format("{} %", 100 * site.active_lanes / site.all_lanes);
    kernel["sites"].push_back(
        {pc - program, site.executions, lanes_on, site.bank_conflict, site.text});
  }
}

Json kernels_of(const Run& run) {
  Json kernels = Json::array();
  for (const KernelCounters& counters : run.kernels) {
    Json kernel{{"name", counters.name},         {"target", counters.target},
                {"launches", counters.launches}, {"workgroups", counters.workgroups},
                {"busy_ns", counters.busy_ns},   {"counted", counters.profile != nullptr}};
    for (const char* list : {"units", "mix", "memory", "sites"}) kernel[list] = Json::array();
    if (counters.profile) add_counters(kernel, *counters.profile, counters.program);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

void replace(std::string& text, std::string_view mark, std::string_view by) {
  const size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), by);
}

/// JSON that ends no script element early.
std::string for_script(std::string json) {
  for (size_t at = json.find('<'); at != std::string::npos; at = json.find('<', at)) {
    json.replace(at, 1, "\\u003c");
  }
  return json;
}

}  // namespace

std::string to_json(const Run& run) {
  const uint64_t origin = origin_ns(run);
  Json actors = Json::array();
  for (const Actor& actor : run.actors) {
    actors.push_back({{"name", actor.name}, {"group", actor.group}});
  }
  return Json{{"title", run.title},
              {"checked", run.checked},
              {"left_out", run.left_out},
              {"actors", std::move(actors)},
              {"spans", spans_of(run, origin)},
              {"arrows", arrows_of(run, origin)},
              {"nodes", nodes_of(run, origin)},
              {"edges", edges_of(run)},
              {"findings", findings_of(run)},
              {"faults", run.faults},
              {"stalls", run.stalls},
              {"kernels", kernels_of(run)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_html(const Run& run) {
  std::string page(kPage);
  // Last first, so that nothing is looked for in what was put in.
  replace(page, "@SCRIPT@", kScript);
  replace(page, "@RUN@", for_script(to_json(run)));
  replace(page, "@STYLE@", kStyle);
  return page;
}

}  // namespace doppel::report
