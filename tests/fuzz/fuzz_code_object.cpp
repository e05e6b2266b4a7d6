// Any bytes as a code object: parsing, and laying out what was accepted.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/assert.h"
#include "core/code_object.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace doppel;
  if (size > 1 << 18) return 0;
  const auto code = CodeObject::parse(std::as_bytes(std::span(data, size)));
  if (!code) return 0;
  DOPPEL_ASSERT(code->image_bytes() <= uint64_t{1} << 32, "an image is out of all proportion");
  if (code->image_bytes() > 1 << 22) return 0;  // a hole in a small file: valid, and slow to fill
  for (const KernelInfo& kernel : code->kernels()) {
    DOPPEL_ASSERT(kernel.entry_offset < code->image_bytes(), "a kernel begins behind its image");
    DOPPEL_ASSERT(code->find_kernel(kernel.name).has_value(), "a kernel is not found by its name");
  }
  std::vector<std::byte> image(code->image_bytes());
  (void)code->write_image(0x7f0000000000, image);
  return 0;
}
