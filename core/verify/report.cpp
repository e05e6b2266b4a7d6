#include "core/verify/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace doppel::verify {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kReplaceBadUtf8 = Json::error_handler_t::replace;

Json culprit_json(const Culprit& culprit) {
  Json json = {{"role", culprit.role}, {"actor", culprit.actor}, {"action", culprit.action}};
  if (!culprit.place.empty()) json["place"] = culprit.place;
  if (culprit.packet_offset) json["packet_offset"] = *culprit.packet_offset;
  if (!culprit.packet.empty()) json["packet"] = culprit.packet;
  if (!culprit.node.empty()) json["node"] = culprit.node;
  if (culprit.kernel) {
    json["kernel"] = {{"name", culprit.kernel->kernel},
                      {"pc", culprit.kernel->pc},
                      {"pc_offset", culprit.kernel->pc_offset},
                      {"wave", culprit.kernel->wave},
                      {"lane", culprit.kernel->lane}};
  }
  return json;
}

Json finding_json(const Finding& finding) {
  const Rule& rule = finding.info();
  Json json = {{"rule", rule.name},
               {"category", to_string(rule.category)},
               {"severity", packets::to_string(rule.severity)},
               {"message", finding.message},
               {"culprits", Json::array()}};
  for (const Culprit& culprit : finding.culprits) json["culprits"].push_back(culprit_json(culprit));
  if (finding.range) {
    json["range"] = {{"buffer", finding.range->buffer},
                     {"offset", finding.range->offset},
                     {"size", finding.range->size},
                     {"va", finding.range->va}};
  }
  if (!finding.missing.empty()) json["missing"] = finding.missing;
  json["fix"] = finding.fix.empty() ? rule.fix : std::string_view(finding.fix);
  json["reason"] = rule.reason;
  json["step"] = finding.step;
  json["count"] = finding.count;
  return json;
}

std::string to_json(const FindingLog& log, std::string_view subject) {
  Json json = {{"subject", subject}, {"findings", Json::array()}, {"suppressed", Json::array()}};
  for (const Finding& finding : log.findings()) json["findings"].push_back(finding_json(finding));
  for (const SuppressedFinding& suppressed : log.suppressed()) {
    Json entry = finding_json(suppressed.finding);
    entry["suppressed_because"] = suppressed.reason;
    json["suppressed"].push_back(std::move(entry));
  }
  json["dropped"] = log.dropped();
  return json.dump(2, ' ', false, kReplaceBadUtf8) + "\n";
}

std::string_view sarif_level(Severity severity) {
  return packets::to_string(severity);
}

Json sarif_rule(const Rule& rule) {
  return {{"id", rule.name},
          {"shortDescription", {{"text", rule.title}}},
          {"fullDescription", {{"text", rule.reason}}},
          {"help", {{"text", rule.fix}}},
          {"defaultConfiguration", {{"level", sarif_level(rule.severity)}}},
          {"properties", {{"category", to_string(rule.category)}}}};
}

Json sarif_result(const Finding& finding, std::string_view subject) {
  Json locations = Json::array();
  Json related = Json::array();
  for (size_t i = 0; i < finding.culprits.size(); ++i) {
    Json location = {
        {"physicalLocation", {{"artifactLocation", {{"uri", subject}}}}},
        {"logicalLocations", {{{"fullyQualifiedName", finding.culprits[i].to_string()}}}}};
    if (i != 0) location["id"] = i;
    (i == 0 ? locations : related).push_back(std::move(location));
  }
  Json result = {{"ruleId", finding.info().name},
                 {"ruleIndex", static_cast<size_t>(finding.rule)},
                 {"level", sarif_level(finding.severity())},
                 {"message", {{"text", finding.to_string()}}},
                 {"occurrenceCount", finding.count},
                 {"locations", std::move(locations)}};
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  return result;
}

std::string to_sarif(const FindingLog& log, std::string_view subject) {
  Json rules = Json::array();
  for (const Rule& rule : verify::rules()) rules.push_back(sarif_rule(rule));
  Json results = Json::array();
  for (const Finding& finding : log.findings()) results.push_back(sarif_result(finding, subject));
  for (const SuppressedFinding& suppressed : log.suppressed()) {
    Json result = sarif_result(suppressed.finding, subject);
    result["suppressions"] = {{{"kind", "external"}, {"justification", suppressed.reason}}};
    results.push_back(std::move(result));
  }
  const Json sarif = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs",
                       {{{"tool", {{"driver", {{"name", "doppel"}, {"rules", std::move(rules)}}}}},
                         {"results", std::move(results)}}}}};
  return sarif.dump(2, ' ', false, kReplaceBadUtf8) + "\n";
}

std::string xml_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // XML 1.0 has no way to write the other control characters.
        escaped += static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' ? c : '?';
    }
  }
  return escaped;
}

/// One test case a rule: it fails if the rule was broken.
std::string to_junit(const FindingLog& log, std::string_view subject) {
  size_t failed = 0;
  std::string cases;
  for (const Rule& rule : verify::rules()) {
    std::string reports;
    for (const Finding& finding : log.findings()) {
      if (finding.rule == rule.id) reports += finding.to_string() + "\n";
    }
    fmt::format_to(std::back_inserter(cases), "    <testcase classname=\"{}.{}\" name=\"{}\"",
                   xml_escape(subject), to_string(rule.category), rule.name);
    if (reports.empty()) {
      cases += "/>\n";
      continue;
    }
    ++failed;
    fmt::format_to(std::back_inserter(cases),
                   ">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                   packets::to_string(rule.severity), xml_escape(rule.title), xml_escape(reports));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml_escape(subject), verify::rules().size(), failed, cases);
}

/// Properties and messages of workflow commands escape these (GitHub Actions toolkit, command.ts).
std::string github_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '%':
        escaped += "%25";
        break;
      case '\r':
        escaped += "%0D";
        break;
      case '\n':
        escaped += "%0A";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string to_github(const FindingLog& log) {
  std::string text;
  for (const Finding& finding : log.findings()) {
    const bool is_note = finding.severity() == Severity::Note;
    fmt::format_to(std::back_inserter(text), "::{} title=doppel {}::{}\n",
                   is_note ? "notice" : packets::to_string(finding.severity()), finding.info().name,
                   github_escape(finding.to_string()));
  }
  return text;
}

}  // namespace

Result<ReportFormat> parse_report_format(std::string_view name) {
  static constexpr std::string_view kNames[] = {"text", "json", "sarif", "junit", "github"};
  const auto* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) {
    return error(
        StatusCode::InvalidArgument,
        fmt::format("No report has this format ({}): text, json, sarif, junit, github.", name));
  }
  return static_cast<ReportFormat>(found - kNames);
}

std::string report(const FindingLog& log, ReportFormat format, std::string_view subject) {
  switch (format) {
    case ReportFormat::Text:
      return log.to_string();
    case ReportFormat::Json:
      return to_json(log, subject);
    case ReportFormat::Sarif:
      return to_sarif(log, subject);
    case ReportFormat::Junit:
      return to_junit(log, subject);
    case ReportFormat::Github:
      return to_github(log);
  }
  return {};
}

Result<> write_report(const FindingLog& log, const std::string& path, std::string_view subject) {
  const std::string ending = std::filesystem::path(path).extension().string();
  const ReportFormat format = ending == ".json"    ? ReportFormat::Json
                              : ending == ".sarif" ? ReportFormat::Sarif
                              : ending == ".xml"   ? ReportFormat::Junit
                                                   : ReportFormat::Text;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << report(log, format, subject);
  if (file.flush()) return {};
  return error(StatusCode::System, fmt::format("The findings can't be written ({}).", path));
}

}  // namespace doppel::verify
