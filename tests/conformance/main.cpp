// doppel_conformance: runs the suite on one device.
//
//   doppel_conformance --device kfd:0 [--unsupported FILE] [--expected-failures FILE]
//                      [--verify CHECKS] [gtest flags]
//
// Lists hold test names, one a line, `*` and `?` as in gtest filters, `#` begins a comment:
//   unsupported        for ever: these tests are not run, and said so
//   expected-failures  known defects: run; one that passes fails the run, so that lists stay true
//
// Exit: 0 as expected, 1 otherwise, 77 if the device is not on this machine.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "backends/open_device.h"
#include "tests/conformance/conformance.h"

namespace {

constexpr int kSkipped = 77;

std::vector<std::string> read_list(const std::string& path) {
  std::vector<std::string> names;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(0, line.find('#'));
    line.erase(line.find_last_not_of(" \t") + 1);
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

bool matches(const char* pattern, const char* name) {
  if (*pattern == '\0') return *name == '\0';
  if (*pattern == '*')
    return matches(pattern + 1, name) || (*name != '\0' && matches(pattern, name + 1));
  return *name != '\0' && (*pattern == '?' || *pattern == *name) && matches(pattern + 1, name + 1);
}

bool listed(const std::vector<std::string>& list, const std::string& name) {
  for (const std::string& pattern : list) {
    if (matches(pattern.c_str(), name.c_str())) return true;
  }
  return false;
}

std::string exclude(std::string filter, const std::vector<std::string>& unsupported) {
  char separator = filter.find('-') == std::string::npos ? '-' : ':';
  for (const std::string& name : unsupported) {
    filter += separator + name;
    separator = ':';
    std::printf("unsupported on this device: %s\n", name.c_str());
  }
  return filter;
}

/// How many tests did not end as expected.
int count_surprises(const std::vector<std::string>& expected_failures) {
  int surprises = 0;
  const testing::UnitTest& run = *testing::UnitTest::GetInstance();
  for (int suite = 0; suite < run.total_test_suite_count(); ++suite) {
    const testing::TestSuite& tests = *run.GetTestSuite(suite);
    for (int index = 0; index < tests.total_test_count(); ++index) {
      const testing::TestInfo& test = *tests.GetTestInfo(index);
      if (!test.should_run() || test.result()->Skipped()) continue;
      const std::string name = std::string(tests.name()) + "." + test.name();
      const bool expected = listed(expected_failures, name);
      if (expected == test.result()->Failed()) continue;
      ++surprises;
      if (expected) std::printf("unexpected pass: %s is a listed failure\n", name.c_str());
    }
  }
  return surprises;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  CLI::App app("Runs the conformance suite on one device.");
  std::string& device = doppel::conformance::settings().device;
  std::string unsupported_path;
  std::string expected_path;
  app.add_option("--device", device, "kfd:N or mock:MODEL[,option=value]")->capture_default_str();
  app.add_option("--unsupported", unsupported_path)->check(CLI::ExistingFile);
  app.add_option("--expected-failures", expected_path)->check(CLI::ExistingFile);
  std::string checks;
  app.add_option("--verify", checks, "Checks to run beside the tests, as in all or hazards");
  CLI11_PARSE(app, argc, argv);
  if (!checks.empty()) {
    const auto verify = doppel::Verify::parse(checks);
    if (!verify) {
      std::printf("%s\n", verify.error().to_string().c_str());
      return 1;
    }
    doppel::conformance::settings().verify = *verify;
  }

  if (const auto opened = doppel::open_device(device); !opened) {
    const doppel::Status& status = opened.error();
    std::printf("skipped: %s\n", status.to_string().c_str());
    return status.code() == doppel::StatusCode::Unavailable ? kSkipped : 1;
  }
  GTEST_FLAG_SET(filter, exclude(GTEST_FLAG_GET(filter), read_list(unsupported_path)));
  const auto expected_failures = read_list(expected_path);
  const int result = RUN_ALL_TESTS();
  const int surprises = count_surprises(expected_failures);
  return expected_failures.empty() ? result : std::min(surprises, 1);
}
