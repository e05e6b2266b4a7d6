// Findings as GoogleTest failures, with the whole report as their text. For projects that link
// GoogleTest themselves; the library does not.
//
//   auto gpu = open_device("mock:gfx1100", {.verify = Verify::all()}).value();
//   ...
//   EXPECT_NO_FINDINGS(*gpu);
#pragma once

#include <gtest/gtest.h>

#include "core/device.h"
#include "core/verify/finding.h"

namespace doppel::verify {

/// Success if the device is verified and nothing was found. A device that nobody watches fails: it
/// would always succeed.
inline ::testing::AssertionResult no_findings(Device& device) {
  const auto log = device.findings();
  if (!log) return ::testing::AssertionFailure() << log.error().to_string();
  if (log->empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '\n' << log->to_string();
}

}  // namespace doppel::verify

#define EXPECT_NO_FINDINGS(device) EXPECT_TRUE(::doppel::verify::no_findings(device))
#define ASSERT_NO_FINDINGS(device) ASSERT_TRUE(::doppel::verify::no_findings(device))
