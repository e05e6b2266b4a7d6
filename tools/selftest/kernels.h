// The selftest's device code, built in: one code object per target.
#pragma once

#include <cstddef>
#include <span>

#include "core/target.h"

namespace doppel::selftest {

/// The code object for the target; empty if the build has none for it.
std::span<const std::byte> code_object_for(const Target& target);

}  // namespace doppel::selftest
