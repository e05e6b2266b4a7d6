// The MessagePack half of a code object: what the NT_AMDGPU_METADATA note says of each kernel.
// Source: LLVM "User Guide for AMDGPU Backend", sections "Code Object V3..V5 Metadata".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/code_object.h"
#include "core/status.h"

namespace doppel {

struct CodeObjectMetadata {
  std::string target;               // "amdgcn-amd-amdhsa--gfx1100"; may be empty
  std::vector<KernelInfo> kernels;  // without descriptor and offsets
};

/// Malformed if the note does not parse, lacks a required key or contradicts itself.
Result<CodeObjectMetadata> parse_code_object_metadata(std::span<const std::byte> note);

}  // namespace doppel
