// KernelArgs: the arguments of one launch as the caller wrote them, and their packing into the
// kernarg segment as the kernel's metadata lays it out, hidden arguments included.
//
// Source: LLVM "User Guide for AMDGPU Backend", section "Kernarg Segment" and the .value_kind table
// of the code object metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/code_object.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/status.h"

namespace doppel {

/// LDS sized at launch: what OpenCL passes for a `local` pointer parameter.
struct LocalMemory {
  uint32_t bytes = 0;
};

/// A device address that no Allocation describes.
struct DevicePointer {
  uint64_t address = 0;
};

/// A buffer, and what the kernel does with it: tells a graph more than the metadata does.
struct AccessedBuffer {
  MemoryView view;
  MemoryAccess access = MemoryAccess::ReadWrite;
};
inline AccessedBuffer reads(const MemoryView& view) {
  return {view, MemoryAccess::Read};
}
inline AccessedBuffer writes(const MemoryView& view) {
  return {view, MemoryAccess::Write};
}
inline AccessedBuffer reads_writes(const MemoryView& view) {
  return {view, MemoryAccess::ReadWrite};
}

/// A value of `size` bytes that is given only when a recorded launch is replayed (a graph's
/// variable); the recorder says what `id` means.
struct DeferredValue {
  uint32_t id = 0;
  uint32_t size = 0;
  uint32_t align = 1;
};

/// What is passed to a kernel by its bytes.
template <class T>
concept PlainValue =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
    !std::is_convertible_v<T, MemoryView> && !std::is_convertible_v<T, DeferredValue>;

class KernelArgs {
 public:
  enum class Kind : uint8_t { Value, Buffer, Local, EmptyBuffer, Deferred };

  /// One argument: `size` bytes of storage() at `offset`; for Local, the bytes of LDS wanted.
  struct Arg {
    Kind kind = Kind::Value;
    uint32_t offset = 0;
    uint32_t size = 0;
    uint32_t align = 1;
    uint32_t deferred_id = 0;            // of Deferred
    MemoryView view;                     // of Buffer; of size 0 for a DevicePointer
    std::optional<MemoryAccess> access;  // of Buffer, where the caller says it
  };

  void add(const MemoryView& view);
  void add(const Allocation& allocation) { add(allocation.view()); }
  void add(const AccessedBuffer& buffer);
  void add(DevicePointer pointer);
  void add(LocalMemory local);
  void add(DeferredValue value);
  template <PlainValue T>
  void add(const T& value) {
    add_bytes(Kind::Value, std::as_bytes(std::span(&value, 1)), alignof(T));
  }

  std::span<const Arg> args() const { return args_; }
  std::span<const std::byte> bytes_of(const Arg& arg) const {
    return std::span(storage_).subspan(arg.offset, arg.size);
  }
  /// Points argument `index` elsewhere (a graph's buffer update). OutOfRange, or InvalidArgument if
  /// that argument is no buffer.
  Result<> set_buffer(size_t index, const MemoryView& view);
  /// Gives argument `index` another value of the same size; a deferred one becomes a plain one.
  /// OutOfRange, or InvalidArgument if that argument is no value or the sizes differ.
  Result<> set_value(size_t index, std::span<const std::byte> bytes);

 private:
  Arg& add_bytes(Kind kind, std::span<const std::byte> bytes, uint32_t align);
  Result<> check_index(size_t index) const;

  std::vector<Arg> args_;
  std::vector<std::byte> storage_;
};

/// `args(x, y, 2.0f, count)`: buffers, views, LocalMemory and trivially copyable values, in the
/// order of the kernel's parameters.
template <class... Ts>
KernelArgs args(const Ts&... values) {
  KernelArgs result;
  (result.add(values), ...);
  return result;
}

/// What hidden arguments need beyond the launch itself.
struct HiddenArgs {
  uint32_t dynamic_group_bytes = 0;  // LDS sized at launch
  uint64_t queue_ptr = 0;            // amd_queue_t of the AQL queue; 0 if there is none
  uint32_t private_base = 0;         // high halves of the flat scratch and LDS apertures
  uint32_t shared_base = 0;
};

/// LDS that one workgroup takes: the kernel's static part and the LocalMemory arguments behind it,
/// each aligned for what it points to. Saturates at 2^32 - 1.
uint32_t group_segment_bytes(const KernelInfo& kernel, const KernelArgs& args);

/// Fills `out` (kernel.kernarg_bytes long) for one launch. InvalidArgument, naming the argument, if
/// count, size or kind don't fit the kernel; Unsupported for parameters without meaning here
/// (images, samplers, pipes).
///
/// Services that this runtime does not offer (hostcall, printf, device heap, device enqueue,
/// multigrid) get the address of a page that is never mapped: a kernel that merely declares them
/// runs, one that uses them faults, and describe_hidden_guard() names the service.
Result<> pack_kernel_args(const KernelInfo& kernel, const KernelArgs& args, const LaunchDims& dims,
                          const HiddenArgs& hidden, std::span<std::byte> out);

/// "hidden_hostcall_buffer" if `address` lies in the page that stands for it, else "".
std::string_view describe_hidden_guard(uint64_t address);

}  // namespace doppel
