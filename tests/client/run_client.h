// Starts other people's programs on emulated GPUs and tells how they ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/shell.h"

namespace doppel::client {

using test::doppel_program;
using test::Outcome;

/// Keeps both stdout and stderr.
Outcome shell(const std::string& command);
/// `doppel run OPTIONS -- COMMAND`.
Outcome run(const std::string& options, const std::string& command);

/// What doppel itself says of a run: the totals over its processes.
struct Counters {
  uint64_t packets = 0;
  uint64_t dispatches = 0;
  uint64_t wave_instructions = 0;
  uint64_t faults = 0;
};

struct CountedOutcome : Outcome {
  Counters counters;
  std::vector<nlohmann::json> processes;  // RunSummary's lines
};

/// An outcome with the counters of its summary's file.
CountedOutcome count(const Outcome& outcome, const std::string& summary);
/// As run, with the counters. `name` makes the summary's file this test's own.
CountedOutcome run_counted(const std::string& name, const std::string& options,
                           const std::string& command);

/// A file of this test's own in the build tree.
std::string scratch_file(const std::string& name);
std::string read_file(const std::string& path);

bool installed(const std::string& program);
/// Where the build put a HIP client, or "" if there was no hipcc.
std::string hip_client(const std::string& name);

}  // namespace doppel::client

#define REQUIRE_PROGRAM(name) \
  if (!doppel::client::installed(name)) GTEST_SKIP() << name << " is not installed"
#define REQUIRE_HIP_CLIENT(name)                \
  if (doppel::client::hip_client(name).empty()) \
  GTEST_SKIP() << "the build found no hipcc for " << name
