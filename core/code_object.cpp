#include "core/code_object.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/code_object_metadata.h"
#include "core/errors.h"

namespace doppel {
namespace {

constexpr uint32_t kOldestAbiVersion = 2;  // ELFABIVERSION_AMDGPU_HSA_V4
constexpr uint32_t kNewestAbiVersion = 4;  // ELFABIVERSION_AMDGPU_HSA_V6
constexpr std::string_view kDescriptorSuffix = ".kd";
constexpr uint32_t kMaxKernargBytes = 1 << 20;

/// Kernels of a file without metadata: one per descriptor symbol.
std::vector<KernelInfo> kernels_from_symbols(const ElfImage& image) {
  std::vector<KernelInfo> kernels;
  for (const ElfSymbol& symbol : image.symbols()) {
    if (!symbol.name.ends_with(kDescriptorSuffix)) continue;
    KernelInfo& kernel = kernels.emplace_back();
    kernel.symbol = symbol.name;
    kernel.name = symbol.name.substr(0, symbol.name.size() - kDescriptorSuffix.size());
  }
  return kernels;
}

}  // namespace

std::vector<const KernelArg*> KernelInfo::explicit_args() const {
  std::vector<const KernelArg*> result;
  for (const KernelArg& arg : args) {
    if (!is_hidden(arg.kind)) result.push_back(&arg);
  }
  return result;
}

Result<CodeObject> CodeObject::parse(std::span<const std::byte> file) {
  CodeObject object;
  DOPPEL_ASSIGN(object.image_, ElfImage::parse(file));
  const uint32_t abi = object.image_.abi_version();
  if (abi < kOldestAbiVersion || abi > kNewestAbiVersion) {
    return error(StatusCode::Unsupported,
                 fmt::format("The code object version ({}) is not one of 4, 5 and 6.", abi + 2));
  }
  object.version_ = abi + 2;
  object.target_ = find_target_by_elf_mach(object.image_.flags());
  if (object.target_ == nullptr) {
    return error(StatusCode::Unsupported,
                 fmt::format("The code object's target (EF_AMDGPU_MACH {:#x}) is unknown.",
                             object.image_.flags() & 0xff));
  }
  DOPPEL_TRY(object.find_kernels());
  return object;
}

Result<> CodeObject::find_kernels() {
  if (image_.metadata().empty()) {
    kernels_ = kernels_from_symbols(image_);
  } else {
    DOPPEL_ASSIGN(CodeObjectMetadata metadata, parse_code_object_metadata(image_.metadata()));
    if (!metadata.target.empty() && !metadata.target.contains(target_->name)) {
      return malformed(fmt::format("The metadata's target ({}) is not that of the ELF header ({}).",
                                   metadata.target, target_->name));
    }
    kernels_ = std::move(metadata.kernels);
  }
  for (KernelInfo& kernel : kernels_) DOPPEL_TRY(resolve_kernel(kernel));
  return {};
}

Result<> CodeObject::resolve_kernel(KernelInfo& kernel) const {
  const ElfSymbol* symbol = image_.find_symbol(kernel.symbol);
  if (symbol == nullptr) {
    return malformed(
        fmt::format("The kernel's descriptor symbol ({}) does not exist.", kernel.symbol));
  }
  kernel.descriptor_offset = symbol->offset;
  DOPPEL_TRY(image_.read(symbol->offset, std::as_writable_bytes(std::span(&kernel.descriptor, 1))));
  const abi::KernelDescriptor& descriptor = kernel.descriptor;
  kernel.entry_offset =
      symbol->offset + static_cast<uint64_t>(descriptor.kernel_code_entry_byte_offset);
  if (kernel.entry_offset >= image_.size() || kernel.entry_offset % 256 != 0) {
    return malformed(fmt::format(
        "The kernel ({}) enters at offset {:#x}, which is not a 256-byte aligned place in the "
        "image of {} bytes.",
        kernel.name, kernel.entry_offset, image_.size()));
  }
  if (const ElfSymbol* code = image_.find_symbol(kernel.name)) kernel.code_bytes = code->size;

  if (!kernel.has_metadata) {
    kernel.kernarg_bytes = descriptor.kernarg_size;
    kernel.group_bytes = descriptor.group_segment_fixed_size;
    kernel.private_bytes = descriptor.private_segment_fixed_size;
    kernel.wave_size = kernel.has_property(abi::ENABLE_WAVEFRONT_SIZE32) ? 32 : 64;
    kernel.max_workgroup_size = target_->max_workgroup_size;
    kernel.uses_dynamic_stack = kernel.has_property(abi::USES_DYNAMIC_STACK);
  }
  if (kernel.kernarg_bytes > kMaxKernargBytes) {
    return malformed(
        fmt::format("The kernel ({}) claims a kernarg segment of {} bytes; the limit "
                    "is {}.",
                    kernel.name, kernel.kernarg_bytes, kMaxKernargBytes));
  }
  const uint32_t wave_bit = kernel.wave_size;  // Target::wave_sizes: bit 5 is 32, bit 6 is 64
  if ((wave_bit != 32 && wave_bit != 64) || (target_->wave_sizes & wave_bit) == 0) {
    return malformed(fmt::format("The kernel ({}) claims a wave size ({}) that {} does not have.",
                                 kernel.name, kernel.wave_size, target_->name));
  }
  const bool wave32 = kernel.has_property(abi::ENABLE_WAVEFRONT_SIZE32);
  if (target_->family != GfxFamily::Gfx9_4 && wave32 != (kernel.wave_size == 32)) {
    return malformed(
        fmt::format("The kernel ({}) has wave size {} in its metadata and {} in its "
                    "descriptor.",
                    kernel.name, kernel.wave_size, wave32 ? 32 : 64));
  }
  return {};
}

Result<const KernelInfo*> CodeObject::find_kernel(std::string_view name) const {
  auto found = std::ranges::find(kernels_, name, &KernelInfo::name);
  if (found != kernels_.end()) return &*found;
  std::vector<std::string_view> names;
  for (const KernelInfo& kernel : kernels_) names.push_back(kernel.name);
  return error(StatusCode::NotFound, fmt::format("The code object has no kernel ({}); it has ({}).",
                                                 name, fmt::join(names, ", ")));
}

}  // namespace doppel
