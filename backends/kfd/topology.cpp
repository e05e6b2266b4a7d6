#include "backends/kfd/topology.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ranges>

#include <fmt/format.h>

namespace doppel::kfd {
namespace {

constexpr const char* kRoot = "/sys/devices/virtual/kfd/kfd/topology";
constexpr int kReadAttempts = 8;
constexpr uint64_t kHeapTypeFrameBufferPublic = 1;   // HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC
constexpr uint64_t kHeapTypeFrameBufferPrivate = 2;  // HSA_HEAPTYPE_FRAME_BUFFER_PRIVATE

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  text = trimmed(text);
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}

Result<std::vector<uint32_t>> numbered_entries(KernelAbi& kernel, const std::string& path) {
  DOPPEL_ASSIGN(std::vector<std::string> names, kernel.list_dir(path));
  std::vector<uint32_t> numbers;
  for (const std::string& name : names) {
    uint32_t number = 0;
    if (parse_number(name, number)) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<Properties> read_properties(KernelAbi& kernel, const std::string& path) {
  DOPPEL_ASSIGN(std::string text, kernel.read_file(path));
  return Properties::parse(text, path);
}

/// The properties of every numbered entry of a folder that may be missing.
Result<> append_folder(KernelAbi& kernel, const std::string& path, std::vector<Properties>& out) {
  const auto entries = numbered_entries(kernel, path);
  if (!entries) return {};
  for (uint32_t entry : *entries) {
    DOPPEL_ASSIGN(Properties properties,
                  read_properties(kernel, fmt::format("{}/{}/properties", path, entry)));
    out.push_back(std::move(properties));
  }
  return {};
}

Result<TopologyNode> read_node(KernelAbi& kernel, uint32_t id, uint32_t gpu_id) {
  const std::string path = fmt::format("{}/nodes/{}", kRoot, id);
  TopologyNode node;
  node.id = id;
  node.gpu_id = gpu_id;
  if (const auto name = kernel.read_file(path + "/name")) node.name = trimmed(*name);
  DOPPEL_ASSIGN(node.properties, read_properties(kernel, path + "/properties"));
  DOPPEL_TRY(append_folder(kernel, path + "/mem_banks", node.memory_banks));
  DOPPEL_TRY(append_folder(kernel, path + "/caches", node.caches));
  DOPPEL_TRY(append_folder(kernel, path + "/io_links", node.links));
  DOPPEL_TRY(append_folder(kernel, path + "/p2p_links", node.links));
  return node;
}

Result<Topology> read_nodes(KernelAbi& kernel) {
  const std::string path = fmt::format("{}/nodes", kRoot);
  const auto ids = numbered_entries(kernel, path);
  if (!ids) {
    return error(
        StatusCode::Unavailable,
        fmt::format("There is no KFD topology ({}): the amdgpu driver is not loaded.", path),
        ids.error().os_error());
  }
  Topology topology;
  for (uint32_t id : *ids) {
    const std::string gpu_id_path = fmt::format("{}/{}/gpu_id", path, id);
    const auto text = kernel.read_file(gpu_id_path);
    if (!text) continue;
    uint32_t gpu_id = 0;
    if (!parse_number(*text, gpu_id)) {
      return error(StatusCode::Malformed,
                   fmt::format("{} holds no number ({}).", gpu_id_path, trimmed(*text)));
    }
    DOPPEL_ASSIGN(TopologyNode node, read_node(kernel, id, gpu_id));
    topology.nodes.push_back(std::move(node));
  }
  return topology;
}

uint64_t generation(KernelAbi& kernel) {
  uint64_t number = 0;
  const auto text = kernel.read_file(std::string(kRoot) + "/generation_id");
  if (text) parse_number(*text, number);
  return number;
}

}  // namespace

Result<Properties> Properties::parse(std::string_view text, const std::string& path) {
  Properties properties;
  for (auto part : std::views::split(text, '\n')) {
    const std::string_view line = trimmed(std::string_view(part.begin(), part.end()));
    if (line.empty()) continue;
    const auto space = line.find(' ');
    const std::string_view key = line.substr(0, space);
    if (key == "sibling_map") continue;  // a list of bits, of no use here
    uint64_t value = 0;
    if (space == std::string_view::npos || !parse_number(line.substr(space), value)) {
      return error(StatusCode::Malformed,
                   fmt::format("{} has a line that is no key and number ({}).", path, line));
    }
    properties.values_.insert_or_assign(std::string(key), value);
  }
  return properties;
}

uint64_t Properties::operator[](std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? 0 : found->second;
}

const Target* TopologyNode::target() const {
  return find_target_by_version(static_cast<uint32_t>(properties["gfx_target_version"]));
}

std::string TopologyNode::gfx_name() const {
  const uint64_t version = properties["gfx_target_version"];
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::string TopologyNode::pci_address() const {
  const uint64_t location = properties["location_id"];
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", properties["domain"], location >> 8 & 0xff,
                     location >> 3 & 0x1f, location & 7);
}

uint32_t TopologyNode::compute_units() const {
  return static_cast<uint32_t>(properties["simd_count"] /
                               std::max<uint64_t>(properties["simd_per_cu"], 1));
}

uint32_t TopologyNode::shader_engines() const {
  return static_cast<uint32_t>(properties["array_count"] /
                               std::max<uint64_t>(properties["simd_arrays_per_engine"], 1));
}

uint64_t TopologyNode::visible_vram_bytes() const {
  uint64_t total = 0;
  for (const Properties& bank : memory_banks) {
    if (bank["heap_type"] == kHeapTypeFrameBufferPublic) total += bank["size_in_bytes"];
  }
  return total;
}

uint64_t TopologyNode::vram_bytes() const {
  uint64_t total = visible_vram_bytes();
  for (const Properties& bank : memory_banks) {
    if (bank["heap_type"] == kHeapTypeFrameBufferPrivate) total += bank["size_in_bytes"];
  }
  return total;
}

QueueBufferSizes TopologyNode::queue_buffers() const {
  const auto xccs = static_cast<uint32_t>(std::max<uint64_t>(properties["num_xcc"], 1));
  return queue_buffer_sizes({
      .gfx_target_version = static_cast<uint32_t>(properties["gfx_target_version"]),
      .compute_units = compute_units() / xccs,
      .array_count = static_cast<uint32_t>(properties["array_count"]),
      .simd_arrays_per_engine =
          static_cast<uint32_t>(std::max<uint64_t>(properties["simd_arrays_per_engine"], 1)),
      .num_xcc = xccs,
  });
}

std::vector<const TopologyNode*> Topology::gpus() const {
  std::vector<const TopologyNode*> result;
  for (const TopologyNode& node : nodes) {
    if (node.is_gpu()) result.push_back(&node);
  }
  return result;
}

Result<Topology> read_topology(KernelAbi& kernel) {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    const uint64_t before = generation(kernel);
    Result<Topology> topology = read_nodes(kernel);
    if (generation(kernel) == before) return topology;
  }
  return error(
      StatusCode::System,
      fmt::format("The KFD topology changes each time it is read ({} attempts).", kReadAttempts));
}

}  // namespace doppel::kfd
