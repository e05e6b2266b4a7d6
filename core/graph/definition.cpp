#include "core/graph/definition.h"

#include <limits>

#include <fmt/format.h>

#include "core/errors.h"

namespace doppel::graph {
namespace {

/// ByteRange::buffer: the two address spaces that ranges are counted in.
enum Space : uint64_t { kGpuSpace, kHostSpace };

/// Where pack_kernel_args may write when only its verdict matters.
using Scratch = std::vector<std::byte>;

template <class... Fs>
struct Visitor : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Visitor(Fs...) -> Visitor<Fs...>;

ByteRange range_of(const MemoryView& view) {
  const AllocationState* allocation = view.allocation;
  if (allocation != nullptr && allocation->options.host_pointer != nullptr) {
    const uint64_t begin = reinterpret_cast<uintptr_t>(allocation->options.host_pointer) +
                           (view.gpu_address - allocation->gpu_address);
    return {kHostSpace, begin, begin + view.size};
  }
  return {kGpuSpace, view.gpu_address, view.gpu_address + view.size};
}

/// A pointer into an unknown allocation has a view without size.
std::vector<ByteRange> ranges_of(const MemoryView& view) {
  if (view.size != 0) return {range_of(view)};
  constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();
  return {{kGpuSpace, 0, kEnd}, {kHostSpace, 0, kEnd}};
}

void add_access(Accesses& accesses, const MemoryView& view, MemoryAccess access) {
  const std::vector<ByteRange> ranges = ranges_of(view);
  if (can_read(access)) accesses.reads.insert(accesses.reads.end(), ranges.begin(), ranges.end());
  if (can_write(access))
    accesses.writes.insert(accesses.writes.end(), ranges.begin(), ranges.end());
}

Accesses kernel_accesses(const KernelWork& work) {
  Accesses accesses;
  const std::vector<const KernelArg*> wanted = work.kernel.info().explicit_args();
  size_t index = 0;
  for (const KernelArgs::Arg& arg : work.args.args()) {
    const KernelArg* declared = index < wanted.size() ? wanted[index] : nullptr;
    ++index;
    if (arg.kind != KernelArgs::Kind::Buffer) continue;
    const MemoryAccess access =
        arg.access ? *arg.access
                   : (declared != nullptr ? declared->access : MemoryAccess::ReadWrite);
    add_access(accesses, arg.view, access);
  }
  return accesses;
}

Result<> check_kernel(const std::string& who, const KernelWork& work) {
  const KernelInfo& info = work.kernel.info();
  const uint32_t lds = group_segment_bytes(info, work.args);
  if (auto fits = check_launch(info, work.kernel.target(), work.dims, lds); !fits)
    return prefixed(who, fits.error());
  KernelArgs given = work.args;
  for (size_t index = 0; index < given.args().size(); ++index) {
    const KernelArgs::Arg& arg = given.args()[index];
    if (arg.kind != KernelArgs::Kind::Deferred) continue;
    DOPPEL_TRY(given.set_value(index, Scratch(arg.size)));
  }
  Scratch packed(info.kernarg_bytes);
  if (auto fits = pack_kernel_args(info, given, work.dims, HiddenArgs{}, packed); !fits)
    return prefixed(who, fits.error());
  return {};
}

Result<> check_range(const std::string& who, std::string_view role, const MemoryView& view) {
  if (auto whole = check_view(view, role); !whole) return prefixed(who, whole.error());
  return {};
}

Result<> check_copy(const std::string& who, const CopyWork& work) {
  DOPPEL_TRY(check_range(who, "source", work.source));
  DOPPEL_TRY(check_range(who, "destination", work.destination));
  if (work.source.size != work.destination.size) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("{}: The source ({} bytes) and the destination ({} bytes) differ in "
                             "size.",
                             who, work.source.size, work.destination.size));
  }
  const ByteRange from = range_of(work.source), to = range_of(work.destination);
  if (from.buffer == to.buffer && from.begin < to.end && to.begin < from.end) {
    return error(
        StatusCode::InvalidArgument,
        fmt::format("{}: The source (va {:#x}) and the destination (va {:#x}) overlap "
                    "({} bytes each).",
                    who, work.source.gpu_address, work.destination.gpu_address, work.source.size));
  }
  return {};
}

Result<> check_fill(const std::string& who, const FillWork& work) {
  DOPPEL_TRY(check_range(who, "destination", work.destination));
  if (work.destination.gpu_address % 4 != 0 || work.destination.size % 4 != 0) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("{}: The destination (va {:#x}, {} bytes) is not a range of whole "
                             "dwords.",
                             who, work.destination.gpu_address, work.destination.size));
  }
  return {};
}

}  // namespace

std::string describe(const Definition& definition, NodeId node) {
  return fmt::format("Node {} ({})", node, definition.nodes[node].name);
}

Accesses accesses_of(const Work& work) {
  return std::visit(Visitor{[](const KernelWork& kernel) { return kernel_accesses(kernel); },
                            [](const CopyWork& copy) {
                              Accesses accesses;
                              add_access(accesses, copy.source, MemoryAccess::Read);
                              add_access(accesses, copy.destination, MemoryAccess::Write);
                              return accesses;
                            },
                            [](const FillWork& fill) {
                              Accesses accesses;
                              add_access(accesses, fill.destination, MemoryAccess::Write);
                              return accesses;
                            }},
                    work);
}

std::vector<MemoryView> memory_of(const Work& work) {
  std::vector<MemoryView> views;
  std::visit(Visitor{[&](const KernelWork& kernel) {
                       for (const KernelArgs::Arg& arg : kernel.args.args())
                         if (arg.kind == KernelArgs::Kind::Buffer && arg.view.size != 0)
                           views.push_back(arg.view);
                     },
                     [&](const CopyWork& copy) {
                       views = {copy.source, copy.destination};
                     },
                     [&](const FillWork& fill) { views = {fill.destination}; }},
             work);
  return views;
}

Result<> check_work(const std::string& who, const Work& work) {
  return std::visit(Visitor{[&](const KernelWork& kernel) { return check_kernel(who, kernel); },
                            [&](const CopyWork& copy) { return check_copy(who, copy); },
                            [&](const FillWork& fill) { return check_fill(who, fill); }},
                    work);
}

}  // namespace doppel::graph
