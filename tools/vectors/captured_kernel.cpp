#include "tools/vectors/captured_kernel.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tools/vectors/zstd_file.h"

namespace doppel::vectors {
namespace {

using Json = nlohmann::json;

// A file of the set; its name may not lead out of the folder.
Result<std::vector<std::byte>> read_part(const std::filesystem::path& folder,
                                         const std::string& name) {
  if (std::filesystem::path(name).filename() != name) {
    return error(StatusCode::Malformed,
                 fmt::format("A file of the set lies in its folder ({}).", name));
  }
  return read_zstd_file(folder / name);
}

Result<std::vector<std::byte>> read_buffer(const std::filesystem::path& folder, const Json& row,
                                           const char* key, uint64_t size) {
  if (!row.contains(key)) return {};
  const std::string name = row.at(key);
  DOPPEL_ASSIGN(auto bytes, read_part(folder, name));
  if (bytes.size() != size) {
    return error(StatusCode::Malformed,
                 fmt::format("The buffer's file has another size than the manifest says ({}: {} "
                             "instead of {} bytes).",
                             name, bytes.size(), size));
  }
  return bytes;
}

Result<CapturedBuffer> load_buffer(const std::filesystem::path& folder, const Json& row,
                                   uint32_t kernarg_size) {
  CapturedBuffer buffer{.kernarg_offset = row.at("kernarg_offset"),
                        .size = row.at("size"),
                        .written = row.at("written"),
                        .before = {},
                        .after = {}};
  if (uint64_t{buffer.kernarg_offset} + 8 > kernarg_size) {
    return error(StatusCode::Malformed,
                 fmt::format("The buffer's address lies outside the kernarg segment (offset {}).",
                             buffer.kernarg_offset));
  }
  DOPPEL_ASSIGN(buffer.before, read_buffer(folder, row, "in", buffer.size));
  DOPPEL_ASSIGN(buffer.after, read_buffer(folder, row, "out", buffer.size));
  if (buffer.written && buffer.after.empty()) {
    return error(StatusCode::Malformed, "A written buffer has no expected content.");
  }
  return buffer;
}

Result<CapturedKernel> load_kernel(const std::filesystem::path& folder, const Json& row) {
  CapturedKernel kernel;
  kernel.name = row.at("name");
  kernel.symbol = row.at("kernel");
  kernel.grid = row.at("grid");
  kernel.block = row.at("block");
  kernel.values = row.at("vals").get<std::vector<int32_t>>();
  kernel.kernarg_size = row.at("kernarg_size");
  kernel.lds_bytes = row.at("lds");
  kernel.scratch_bytes_per_lane = row.at("scratch_per_lane");
  kernel.rsrc1 = row.at("rsrc1");
  kernel.rsrc2 = row.at("rsrc2");
  kernel.rsrc3 = row.at("rsrc3");
  kernel.wave_size = row.at("wave32").get<bool>() ? 32 : 64;
  kernel.wave_instructions = row.at("wave_insts");
  kernel.tolerance = row.at("numpy_max_rel_err");
  DOPPEL_ASSIGN(kernel.code_object, read_part(folder, row.at("co")));
  uint64_t values_begin = 0;
  for (const Json& buffer_row : row.at("buffers")) {
    DOPPEL_ASSIGN(auto buffer, load_buffer(folder, buffer_row, kernel.kernarg_size));
    values_begin = std::max<uint64_t>(values_begin, uint64_t{buffer.kernarg_offset} + 8);
    kernel.buffers.push_back(std::move(buffer));
  }
  if (values_begin + 4 * kernel.values.size() > kernel.kernarg_size) {
    return error(StatusCode::Malformed, "The values lie outside the kernarg segment.");
  }
  return kernel;
}

}  // namespace

Result<std::vector<CapturedKernel>> load_captured_kernels(const std::filesystem::path& folder) {
  const auto path = folder / "manifest.json";
  DOPPEL_ASSIGN(auto text, read_file(path));
  const auto* begin = reinterpret_cast<const char*>(text.data());
  std::vector<CapturedKernel> kernels;
  try {
    const Json manifest = Json::parse(begin, begin + text.size());
    for (const Json& row : manifest) {
      auto kernel = load_kernel(folder, row);
      if (!kernel) {
        return error(kernel.error().code(),
                     fmt::format("{} ({}, kernel {})", kernel.error().message(), path.string(),
                                 row.at("name").get<std::string>()));
      }
      kernels.push_back(*std::move(kernel));
    }
  } catch (const Json::exception& exception) {
    return error(StatusCode::Malformed, fmt::format("The manifest is not as expected ({}: {}).",
                                                    path.string(), exception.what()));
  }
  return kernels;
}

}  // namespace doppel::vectors
