// doppel info: the nodes of a machine as its driver describes them, real or virtual.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/kfd/topology.h"
#include "backends/named_machine.h"
#include "tools/commands.h"

namespace doppel::tools {
namespace {

constexpr const char* kInfoExamples = R"(Examples:
  doppel info kfd                                  this machine's GPUs, through /dev/kfd
  doppel info mock:gfx1030,cu=8,vram=4GiB          an emulated one
  doppel info kfd:1 --json                         one GPU, for scripts)";

using kfd::Properties;
using kfd::TopologyNode;
using OrderedJson = nlohmann::ordered_json;

std::string bytes(uint64_t count) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(count);
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit < 2 || value == static_cast<uint64_t>(value) ? 0 : 1,
                     kUnits[unit]);
}

// Numbers of kfd_topology.h and amdkfd's crat.h.
const char* heap_name(uint64_t type) {
  switch (type) {
    case 0:
      return "system";
    case 1:
      return "vram (host-visible)";
    case 2:
      return "vram (private)";
    default:
      return "other";
  }
}

std::string link_name(uint64_t type) {
  switch (type) {
    case 2:
      return "PCIe";
    case 11:
      return "xGMI";
    default:
      return fmt::format("type {}", type);
  }
}

void print_memory(const TopologyNode& node) {
  for (const Properties& bank : node.memory_banks) {
    fmt::print("  memory        {}, {}", bytes(bank["size_in_bytes"]),
               heap_name(bank["heap_type"]));
    if (bank["width"] != 0) fmt::print(", {} bits wide", bank["width"]);
    if (bank["mem_clk_max"] != 0) fmt::print(", {} MHz", bank["mem_clk_max"]);
    fmt::print("\n");
  }
}

void print_caches(const TopologyNode& node) {
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> kinds;  // level and KiB -> how many
  for (const Properties& cache : node.caches) ++kinds[{cache["level"], cache["size"]}];
  for (const auto& [kind, count] : kinds) {
    fmt::print("  cache         L{}, {} x {}\n", kind.first, count, bytes(kind.second << 10));
  }
}

void print_links(const TopologyNode& node) {
  for (const Properties& link : node.links) {
    fmt::print("  link          to node {}, {}, weight {}\n", link["node_to"],
               link_name(link["type"]), link["weight"]);
  }
}

void print_gpu(const TopologyNode& node, const kfd::RenderNodeInfo* render) {
  const Properties& properties = node.properties;
  fmt::print("node {}: {}", node.id, node.gfx_name());
  if (render != nullptr && !render->marketing_name.empty()) {
    fmt::print(", {}", render->marketing_name);
  }
  fmt::print("{}\n", node.target() == nullptr ? " (a target that doppel does not know)" : "");
  fmt::print("  gpu id        {}\n", node.gpu_id);
  fmt::print("  pci           {}, device {:#06x}\n", node.pci_address(), properties["device_id"]);
  fmt::print("  render node   /dev/dri/renderD{}", properties["drm_render_minor"]);
  if (render != nullptr) {
    fmt::print(" ({} {}.{}.{})", render->driver_name, render->driver_major, render->driver_minor,
               render->driver_patch);
  }
  fmt::print(
      "\n  compute       {} CUs of {} SIMDs, {} waves a SIMD, {} shader engines of {} arrays\n",
      node.compute_units(), properties["simd_per_cu"], properties["max_waves_per_simd"],
      node.shader_engines(), properties["simd_arrays_per_engine"]);
  fmt::print("  lds           {} a workgroup\n", bytes(properties["lds_size_in_kb"] << 10));
  fmt::print("  scratch       {} waves a CU\n", properties["max_slots_scratch_cu"]);
  fmt::print("  queues        {} compute, {} SDMA engines of {} queues\n",
             properties["num_cp_queues"],
             properties["num_sdma_engines"] + properties["num_sdma_xgmi_engines"],
             properties["num_sdma_queues_per_engine"]);
  const kfd::QueueBufferSizes sizes = node.queue_buffers();
  fmt::print("  queue buffers EOP {}, context save {} (control stack {})\n", bytes(sizes.eop_bytes),
             bytes(sizes.context_save_area_bytes), bytes(sizes.control_stack_bytes));
  fmt::print("  clock         {} MHz\n", properties["max_engine_clk_fcompute"]);
  fmt::print("  firmware      compute {}, SDMA {}\n", properties["fw_version"],
             properties["sdma_fw_version"]);
}

void print_node(const TopologyNode& node, const kfd::RenderNodeInfo* render) {
  if (node.is_gpu()) {
    print_gpu(node, render);
  } else {
    fmt::print("node {}: CPU, {} cores\n", node.id, node.properties["cpu_cores_count"]);
  }
  print_memory(node);
  print_caches(node);
  print_links(node);
}

OrderedJson to_json(const std::vector<Properties>& list) {
  OrderedJson array = OrderedJson::array();
  for (const Properties& properties : list) array.push_back(properties.all());
  return array;
}

OrderedJson to_json(const TopologyNode& node, const kfd::RenderNodeInfo* render) {
  OrderedJson json{{"node", node.id}, {"gpu_id", node.gpu_id}, {"name", node.name}};
  if (node.is_gpu()) json["target"] = node.gfx_name();
  if (render != nullptr) {
    json["marketing_name"] = render->marketing_name;
    json["driver"] = fmt::format("{} {}.{}.{}", render->driver_name, render->driver_major,
                                 render->driver_minor, render->driver_patch);
  }
  json["properties"] = node.properties.all();
  json["memory_banks"] = to_json(node.memory_banks);
  json["caches"] = to_json(node.caches);
  json["links"] = to_json(node.links);
  return json;
}

/// What libdrm says of the node's GPU; its absence is worth a line, not a failure.
std::optional<kfd::RenderNodeInfo> render_node(const kfd::KfdProcess& process,
                                               const TopologyNode& node) {
  if (!node.is_gpu()) return std::nullopt;
  const auto info = [&]() -> Result<kfd::RenderNodeInfo> {
    DOPPEL_ASSIGN(const kfd::Descriptor descriptor,
                  kfd::Descriptor::open(
                      process.shared_driver()->shared_kernel(),
                      fmt::format("/dev/dri/renderD{}", node.properties["drm_render_minor"])));
    return process.kernel().render_node_info(descriptor.get());
  }();
  if (info) return *info;
  fmt::print(stderr, "doppel info: {}\n", info.error().to_string());
  return std::nullopt;
}

int describe(const std::string& name, bool json) {
  const auto machine = open_named_machine(name);
  if (!machine) {
    fmt::print(stderr, "doppel info: {}\n", machine.error().to_string());
    return 1;
  }
  const kfd::KfdProcess& process = *machine->process;
  const std::string driver =
      fmt::format("kfd {}.{}", process.driver().version_major(), process.driver().version_minor());
  OrderedJson nodes = OrderedJson::array();
  if (!json) fmt::print("{}: {}\n", name, driver);
  uint32_t gpu = 0;
  for (const TopologyNode& node : process.topology().nodes) {
    if (node.is_gpu() && machine->index && *machine->index != gpu++) continue;
    const auto render = render_node(process, node);
    const kfd::RenderNodeInfo* known = render ? &*render : nullptr;
    if (json) {
      nodes.push_back(to_json(node, known));
    } else {
      print_node(node, known);
    }
  }
  if (json) {
    fmt::print("{}\n", OrderedJson{{"device", name}, {"driver", driver}, {"nodes", nodes}}.dump(2));
  }
  return 0;
}

}  // namespace

void add_info(CLI::App& app, int& status) {
  static std::string name = "mock:gfx1100";
  static bool json = false;
  CLI::App* command = app.add_subcommand("info", "Describe a machine's nodes, real or virtual");
  command->footer(kInfoExamples);
  command->add_option("device", name, "kfd, kfd:N or mock:MODEL[,option=value]")
      ->capture_default_str();
  command->add_flag("--json", json, "All properties, as JSON");
  command->callback([&status] { status = describe(name, json); });
}

}  // namespace doppel::tools
