// Copies and fills on an SDMA queue: how a node's work becomes packets, and how it is patched into
// them again. Shared by the executors.
#pragma once

#include <span>

#include "core/command_encoder.h"
#include "core/graph/definition.h"

namespace doppel::graph {

/// Appends the packets of a CopyWork or FillWork.
CopyPatch encode_transfer(SdmaEncoder& encoder, const Work& work);

/// Makes the encoded packets those of `work`, which has the same kind and size.
void patch_transfer(const CopyPatch& patch, std::span<uint32_t> dwords, const Work& work);

}  // namespace doppel::graph
