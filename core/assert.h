// DOPPEL_ASSERT: an invariant of doppel itself, checked in every build. A failure is our bug: it
// prints the condition, the place and the replay context (see set_assert_context), then aborts.
// Never use it for what a guest, a user or the driver may cause.
#pragma once

#include <string>
#include <string_view>

namespace doppel {

/// Called when an assertion fails, to say how to reproduce: typically "seed 42, step 1018".
using AssertContext = std::string (*)(void* user);

/// Installs the calling thread's context printer (nullptr removes it). Thread-local.
void set_assert_context(AssertContext context, void* user);

[[noreturn]] void assert_failed(const char* condition, const char* file, int line,
                                std::string_view message);

}  // namespace doppel

#define DOPPEL_ASSERT(condition, message)            \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::doppel::assert_failed(#condition, __FILE__, __LINE__, (message)))
