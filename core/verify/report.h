// Reports of a FindingLog for people and for CI: text, JSON, SARIF 2.1.0 (code scanning), JUnit XML
// (test reports) and GitHub workflow annotations. All of them are functions of the log alone: the
// same run gives the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "core/verify/finding.h"

namespace doppel::verify {

enum class ReportFormat : uint8_t { Text, Json, Sarif, Junit, Github };

/// "text", "json", "sarif", "junit" or "github"; InvalidArgument for others.
Result<ReportFormat> parse_report_format(std::string_view name);

/// `subject`: what was run, for the report's title ("train.py").
std::string report(const FindingLog& log, ReportFormat format, std::string_view subject = "doppel");

/// Writes a report whose format the file's name says: .json, .sarif, .xml (JUnit), else text.
/// System if it can't be written.
Result<> write_report(const FindingLog& log, const std::string& path, std::string_view subject);

}  // namespace doppel::verify
