// Whole files into memory, with Zstandard frames unpacked.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "core/status.h"

namespace doppel::vectors {

/// The file's bytes, unpacked if it begins with the Zstandard magic number (RFC 8878, 3.1.1).
/// Malformed if a frame is damaged; OutOfRange if it unpacks to more than 1 GiB.
Result<std::vector<std::byte>> read_zstd_file(const std::filesystem::path& path);

}  // namespace doppel::vectors
