// Finding sets of cases and kernels among files and folders.
#pragma once

#include <filesystem>
#include <variant>
#include <vector>

#include "core/status.h"
#include "tools/vectors/captured_kernel.h"
#include "tools/vectors/isa_case.h"

namespace doppel::vectors {

/// A set: a file of instruction cases, or a folder of captured kernels.
struct VectorSet {
  std::filesystem::path path;
  std::variant<std::vector<IsaCase>, std::vector<CapturedKernel>> content;
};

/// The sets at `path`: a file of cases (*.bin.zst, *.bin), a folder of captured kernels or its
/// manifest.json, or a folder that has some of these within, in the order of their names. NotFound
/// if there are none.
Result<std::vector<VectorSet>> load_vector_sets(const std::filesystem::path& path);

}  // namespace doppel::vectors
