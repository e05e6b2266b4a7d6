#include "tools/selftest/kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

// selftest_kernels.inc, written by the build: one SELFTEST_KERNEL(target, "file") per target.
#define SELFTEST_KERNEL(target, file)                            \
  asm(".pushsection .rodata\n"                                   \
      ".balign 16\n"                                             \
      "doppel_selftest_" #target                                 \
      "_begin:\n"                                                \
      ".incbin \"" file                                          \
      "\"\n"                                                     \
      "doppel_selftest_" #target                                 \
      "_end:\n"                                                  \
      ".popsection\n");                                          \
  extern "C" const std::byte doppel_selftest_##target##_begin[]; \
  extern "C" const std::byte doppel_selftest_##target##_end[];
#include "selftest_kernels.inc"
#undef SELFTEST_KERNEL

namespace doppel::selftest {
namespace {

struct KernelImage {
  std::string_view target;
  const std::byte* begin;
  const std::byte* end;
};

const KernelImage kImages[] = {
#define SELFTEST_KERNEL(target, file) \
  {#target, doppel_selftest_##target##_begin, doppel_selftest_##target##_end},
#include "selftest_kernels.inc"
#undef SELFTEST_KERNEL
};

}  // namespace

std::span<const std::byte> code_object_for(const Target& target) {
  const auto* row = std::ranges::find(kImages, target.name, &KernelImage::target);
  if (row == std::end(kImages)) return {};
  return {row->begin, row->end};
}

}  // namespace doppel::selftest
