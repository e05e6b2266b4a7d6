// Reading whole files, whatever a path turns out to name: a directory, a device without an end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/status.h"

namespace doppel {

/// What a file may hold: more than any code object, trace or stream has.
inline constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;

/// The first `limit` bytes of a file, or all if it has fewer. NotFound if it can't be opened,
/// System if it can't be read (a directory), OutOfRange if it has more than kMaxFileBytes and
/// `limit` does not cut it off.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                         uint64_t limit = kMaxFileBytes + 1);
/// The same, of text.
Result<std::string> read_text_file(const std::filesystem::path& path);

}  // namespace doppel
