#include "core/memory.h"

#include <fmt/format.h>

namespace doppel {

std::string_view to_string(MemoryDomain domain) {
  switch (domain) {
    case MemoryDomain::Vram:
      return "vram";
    case MemoryDomain::Gtt:
      return "gtt";
    case MemoryDomain::Host:
      return "host";
  }
  return "?";
}

Result<MemoryView> Allocation::slice(uint64_t offset, uint64_t bytes) const {
  if (bytes > size() || offset > size() - bytes) {
    return error(StatusCode::OutOfRange,
                 fmt::format("The slice (offset {}, {} bytes) leaves the allocation of {} bytes.",
                             offset, bytes, size()));
  }
  return MemoryView{gpu_address() + offset, bytes, state_.get()};
}

Result<> Allocation::release() {
  if (!state_) {
    return error(StatusCode::InvalidArgument, "The allocation is empty: freed, moved from or new.");
  }
  const auto state = std::move(state_);
  return state->release();
}

}  // namespace doppel
