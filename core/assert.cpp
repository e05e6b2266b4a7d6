#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace doppel {
namespace {
thread_local AssertContext current_context = nullptr;
thread_local void* current_user = nullptr;
}  // namespace

void set_assert_context(AssertContext context, void* user) {
  current_context = context;
  current_user = user;
}

void assert_failed(const char* condition, const char* file, int line, std::string_view message) {
  std::string where = current_context != nullptr ? current_context(current_user) : std::string();
  std::fprintf(stderr, "doppel: assertion failed: %s\n  %.*s\n  at %s:%d\n%s%s%s", condition,
               static_cast<int>(message.size()), message.data(), file, line,
               where.empty() ? "" : "  replay: ", where.c_str(), where.empty() ? "" : "\n");
  std::abort();
}

}  // namespace doppel
