// Allocation: memory that GPUs reach, owned by one handle. AllocationState is what a backend's
// allocation is; MemoryView is a piece of one, the unit in which commands name memory.
//
// An Allocation may be read from several threads; moving or releasing it needs the caller's own
// order. It may outlive its Device: the address space lives until the last allocation is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/status.h"

namespace doppel {

class Device;

enum class MemoryDomain : uint8_t {
  Vram,  // on the device; the CPU sees it only if asked for and the BAR allows
  Gtt,   // system memory that the driver allocates and every GPU can map
  Host,  // the process's own memory, pinned ("userptr")
};
std::string_view to_string(MemoryDomain domain);

struct AllocationOptions {
  MemoryDomain domain = MemoryDomain::Vram;
  bool cpu_visible = false;      // map for the CPU; Gtt and Host always are
  bool writable = true;          // by the GPU
  bool executable = false;       // code
  bool coherent = false;         // fine-grained: visible across agents while a kernel runs
  bool uncached = false;         // bypasses the GPU's caches (rings, signals)
  void* host_pointer = nullptr;  // Host only: pin this page-aligned memory instead of new
};

/// What a command or a kernel does with the memory that an argument names.
enum class MemoryAccess : uint8_t { Read = 1, Write = 2, ReadWrite = 3 };
constexpr bool can_read(MemoryAccess access) {
  return access != MemoryAccess::Write;
}
constexpr bool can_write(MemoryAccess access) {
  return access != MemoryAccess::Read;
}

/// A backend's allocation. The destructor frees it.
class AllocationState {
 public:
  virtual ~AllocationState() = default;
  AllocationState(const AllocationState&) = delete;
  AllocationState& operator=(const AllocationState&) = delete;

  /// Frees now and tells what the driver says; the destructor does the same and stays silent.
  virtual Result<> release() = 0;

  Device* owner = nullptr;  // valid while the Device lives
  uint64_t gpu_address = 0;
  uint64_t size = 0;          // bytes asked for
  std::byte* host = nullptr;  // CPU mapping, or nullptr
  AllocationOptions options;

 protected:
  AllocationState() = default;
};

/// A range of one allocation. Does not own; valid while the allocation lives.
struct MemoryView {
  uint64_t gpu_address = 0;
  uint64_t size = 0;  // bytes
  const AllocationState* allocation = nullptr;
};

/// No transfer is longer, bytes: there is no memory of that size.
inline constexpr uint64_t kMaxTransferBytes = uint64_t{1} << 40;

/// InvalidArgument if the view is empty, OutOfRange if it is not within its allocation, or longer
/// than kMaxTransferBytes. `what` it is, for the message: "source".
Result<> check_view(const MemoryView& view, std::string_view what);

class Allocation {
 public:
  Allocation() = default;
  explicit Allocation(std::unique_ptr<AllocationState> state) : state_(std::move(state)) {}

  /// False for a default-constructed, moved-from or released handle.
  explicit operator bool() const { return state_ != nullptr; }

  /// 0, 0 and nullptr without an allocation.
  uint64_t gpu_address() const { return state_ ? state_->gpu_address : 0; }
  uint64_t size() const { return state_ ? state_->size : 0; }
  std::byte* host() const { return state_ ? state_->host : nullptr; }

  /// The allocation as an array of T for the CPU; empty if the CPU can't see it.
  template <class T>
  std::span<T> host_as() const {
    if (host() == nullptr) return {};
    return {reinterpret_cast<T*>(host()), static_cast<size_t>(size() / sizeof(T))};
  }

  MemoryDomain domain() const { return state_ ? state_->options.domain : MemoryDomain::Vram; }
  Device* owner() const { return state_ ? state_->owner : nullptr; }
  const AllocationState* state() const { return state_.get(); }

  MemoryView view() const { return {gpu_address(), size(), state_.get()}; }
  /// [offset, offset + bytes); OutOfRange outside of the allocation.
  Result<MemoryView> slice(uint64_t offset, uint64_t bytes) const;
  operator MemoryView() const { return view(); }  // NOLINT: a buffer names its whole range

  /// Frees the memory, reporting what the driver says. Work in flight that uses it faults, as
  /// freeing a live buffer does on hardware: synchronize first. The handle is empty afterwards.
  Result<> release();

 private:
  std::unique_ptr<AllocationState> state_;
};

}  // namespace doppel
