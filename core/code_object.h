// CodeObject: a GPU program as the compiler leaves it, parsed into kernels and a loadable image.
//
// Two containers are read: the linked shared object (ET_DYN, what clang/lld, HIP and comgr produce)
// and the relocatable object (ET_REL, what LLVM's code generator emits directly), both with code
// object version 4, 5 or 6. The file is guest data: anything wrong with it is a Malformed status.
//
// Sources: LLVM "User Guide for AMDGPU Backend", sections "Code Object", "Code Object Metadata",
// "Relocation Records". Immutable once parsed; safe to share between threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/kernel_descriptor.h"
#include "core/elf_image.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/target.h"

namespace doppel {

/// What a kernel argument holds: the metadata's .value_kind. Everything from HiddenNone on is
/// filled by the runtime, not by the caller.
enum class KernelArgKind : uint8_t {
  ByValue,
  GlobalBuffer,
  DynamicSharedPointer,
  Image,
  Sampler,
  Pipe,
  Queue,
  HiddenNone,
  HiddenBlockCountX,
  HiddenBlockCountY,
  HiddenBlockCountZ,
  HiddenGroupSizeX,
  HiddenGroupSizeY,
  HiddenGroupSizeZ,
  HiddenRemainderX,
  HiddenRemainderY,
  HiddenRemainderZ,
  HiddenGlobalOffsetX,
  HiddenGlobalOffsetY,
  HiddenGlobalOffsetZ,
  HiddenGridDims,
  HiddenDynamicLdsSize,
  HiddenPrivateBase,
  HiddenSharedBase,
  HiddenQueuePtr,
  HiddenPrintfBuffer,
  HiddenHostcallBuffer,
  HiddenHeapV1,
  HiddenDefaultQueue,
  HiddenCompletionAction,
  HiddenMultigridSyncArg,
};

/// The metadata's spelling: "hidden_block_count_x".
std::string_view to_string(KernelArgKind kind);
constexpr bool is_hidden(KernelArgKind kind) {
  return kind >= KernelArgKind::HiddenNone;
}

struct KernelArg {
  std::string name = {};       // may be empty: compilers need not keep it
  std::string type_name = {};  // source spelling, may be empty
  uint32_t offset = 0;         // bytes into the kernarg segment
  uint32_t size = 0;           // bytes
  uint32_t pointee_align = 0;
  /// Of a global buffer: what the compiler proved (.actual_access), else Read for a pointer to
  /// const (.is_const), else ReadWrite.
  MemoryAccess access = MemoryAccess::ReadWrite;
  KernelArgKind kind = KernelArgKind::ByValue;
};

/// One kernel: its descriptor, where it lies in the image, and what it takes.
struct KernelInfo {
  std::string name;    // source name
  std::string symbol;  // "saxpy.kd"
  abi::KernelDescriptor descriptor{};
  uint64_t descriptor_offset = 0;  // in the image
  uint64_t entry_offset = 0;       // of the first instruction, in the image
  uint64_t code_bytes = 0;         // size of the function's symbol; 0 if it has none

  bool has_metadata = false;    // false: `args` is unknown and only `kernarg_bytes` is checked
  std::vector<KernelArg> args;  // by offset, hidden ones included
  uint32_t kernarg_bytes = 0;
  uint32_t kernarg_align = 16;
  uint32_t group_bytes = 0;    // static LDS
  uint32_t private_bytes = 0;  // scratch of one work-item
  uint32_t max_workgroup_size = 1024;
  std::optional<std::array<uint32_t, 3>> required_workgroup_size;
  uint32_t wave_size = 32;
  uint32_t vgpr_count = 0;
  uint32_t sgpr_count = 0;
  bool uses_dynamic_stack = false;

  /// Arguments that the caller gives, in order.
  std::vector<const KernelArg*> explicit_args() const;
  bool has_property(abi::KernelCodeProperty property) const {
    return (descriptor.kernel_code_properties & property) != 0;
  }
};

class CodeObject {
 public:
  /// Parses `file` (an ELF image; copied). Malformed if it is damaged or not AMDGPU code,
  /// Unsupported if its code object version, target or a relocation is not handled.
  static Result<CodeObject> parse(std::span<const std::byte> file);

  const Target& target() const { return *target_; }
  /// 4, 5 or 6 (the ELF header's ABI version plus 2).
  uint32_t version() const { return version_; }

  std::span<const KernelInfo> kernels() const { return kernels_; }
  /// By source name, or NotFound naming the kernels there are.
  Result<const KernelInfo*> find_kernel(std::string_view name) const;

  /// Bytes of GPU memory the image takes; it wants 4 KiB alignment.
  uint64_t image_bytes() const { return image_.size(); }

  /// Writes the image, relocated for GPU address `base`, to `out`. InvalidArgument if `out` is not
  /// image_bytes() long or `base` not 4 KiB aligned.
  Result<> write_image(uint64_t base, std::span<std::byte> out) const {
    return image_.write(base, out);
  }

 private:
  Result<> resolve_kernel(KernelInfo& kernel) const;
  Result<> find_kernels();

  const Target* target_ = nullptr;
  uint32_t version_ = 0;
  ElfImage image_;
  std::vector<KernelInfo> kernels_;
};

}  // namespace doppel
