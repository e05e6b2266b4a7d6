// The dwords of a stream that must be well-formed.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/command_stream.h"

namespace doppel {

inline std::vector<uint32_t> dwords_of(const CommandStream& stream) {
  EXPECT_TRUE(stream.check().has_value());
  return {stream.dwords().begin(), stream.dwords().end()};
}

}  // namespace doppel
