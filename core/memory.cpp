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

Result<> check_view(const MemoryView& view, std::string_view what) {
  if (view.gpu_address == 0 || view.size == 0) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The {} is empty: freed, moved from or never made.", what));
  }
  const AllocationState* whole = view.allocation;
  const bool within =
      whole == nullptr || (view.gpu_address >= whole->gpu_address && view.size <= whole->size &&
                           view.gpu_address - whole->gpu_address <= whole->size - view.size);
  if (within && view.size <= kMaxTransferBytes) return {};
  return error(StatusCode::OutOfRange,
               fmt::format("The {} (0x{:x}, {} bytes) is not within its memory ({} bytes).", what,
                           view.gpu_address, view.size, whole ? whole->size : kMaxTransferBytes));
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
