#include "tools/vectors/vector_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tools/vectors/zstd_file.h"

namespace doppel::vectors {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifest = "manifest.json";

bool is_case_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".bin.zst") || name.ends_with(".bin");
}

Result<VectorSet> load_cases(const fs::path& path) {
  DOPPEL_ASSIGN(auto bytes, read_zstd_file(path));
  auto cases = parse_isa_cases(bytes);
  if (!cases) {
    return error(cases.error().code(),
                 fmt::format("{} ({})", cases.error().message(), path.string()));
  }
  return VectorSet{.path = path, .content = *std::move(cases)};
}

Result<VectorSet> load_kernels(const fs::path& folder) {
  DOPPEL_ASSIGN(auto kernels, load_captured_kernels(folder));
  return VectorSet{.path = folder, .content = std::move(kernels)};
}

Result<> collect(const fs::path& path, std::vector<VectorSet>& sets) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) {
    if (path.filename() == kManifest) {
      DOPPEL_ASSIGN(auto set, load_kernels(path.parent_path()));
      sets.push_back(std::move(set));
      return {};
    }
    DOPPEL_ASSIGN(auto set, load_cases(path));
    sets.push_back(std::move(set));
    return {};
  }
  if (fs::exists(path / kManifest, failure)) {
    DOPPEL_ASSIGN(auto set, load_kernels(path));
    sets.push_back(std::move(set));
    return {};
  }
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(path, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const bool nested = fs::is_directory(entry->path(), failure);
    if (nested || is_case_file(entry->path())) entries.push_back(entry->path());
  }
  if (failure) {
    return std::unexpected(status_from_errno(
        failure.value(), fmt::format("The folder can't be read ({}).", path.string())));
  }
  std::ranges::sort(entries);
  for (const fs::path& entry : entries) DOPPEL_TRY(collect(entry, sets));
  return {};
}

}  // namespace

Result<std::vector<VectorSet>> load_vector_sets(const fs::path& path) {
  std::vector<VectorSet> sets;
  DOPPEL_TRY(collect(path, sets));
  if (sets.empty()) {
    return error(StatusCode::NotFound,
                 fmt::format("There are no vector sets here ({}).", path.string()));
  }
  return sets;
}

}  // namespace doppel::vectors
