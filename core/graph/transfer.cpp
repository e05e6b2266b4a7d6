#include "core/graph/transfer.h"

#include <variant>

namespace doppel::graph {

CopyPatch encode_transfer(SdmaEncoder& encoder, const Work& work) {
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    return encoder.copy(copy->destination.gpu_address, copy->source.gpu_address, copy->source.size);
  }
  const auto& fill = std::get<FillWork>(work);
  return encoder.fill(fill.destination.gpu_address, fill.pattern, fill.destination.size);
}

void patch_transfer(const CopyPatch& patch, std::span<uint32_t> dwords, const Work& work) {
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    patch.set_dst(dwords, copy->destination.gpu_address);
    patch.set_src(dwords, copy->source.gpu_address);
    return;
  }
  const auto& fill = std::get<FillWork>(work);
  patch.set_dst(dwords, fill.destination.gpu_address);
  patch.set_value(dwords, fill.pattern);
}

}  // namespace doppel::graph
