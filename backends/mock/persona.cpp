#include "backends/mock/persona.h"

#include "core/files.h"

#include <libdrm/amdgpu_drm.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/kfd/topology.h"
#include "backends/mock/virtual_topology.h"

namespace doppel::mock {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "doppel machine profile";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeapFrameBufferPublic = 1;

// sysfs files may hold any bytes (PCI configuration space); JSON strings may not.
bool is_text(std::string_view content) {
  return std::ranges::all_of(content, [](char c) {
    return c == '\n' || c == '\t' ||
           (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f);
  });
}

template <class Bytes>
std::string to_hex(const Bytes& bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return text;
}

std::unexpected<Status> bad_profile(std::string_view what) {
  return error(StatusCode::Malformed, fmt::format("The machine profile {}.", what));
}

Result<std::vector<uint8_t>> from_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) break;
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  if (bytes.size() * 2 != text.size()) {
    return bad_profile(fmt::format("has bytes that are not hexadecimal ({:.40})", text));
  }
  return bytes;
}

Json gpu_to_json(const PersonaGpu& gpu) {
  Json info = Json::array();
  for (const InfoAnswer& answer : gpu.info) {
    Json row{{"query", answer.query}, {"parameters", answer.parameters}};
    if (answer.result != 0) {
      row["result"] = answer.result;
    } else {
      row["bytes"] = to_hex(answer.bytes);
    }
    info.push_back(std::move(row));
  }
  return Json{{"gpu_id", gpu.gpu_id},
              {"pci_address", gpu.pci_address},
              {"marketing_name", gpu.marketing_name},
              {"drm_version", gpu.drm_version},
              {"info", info}};
}

Result<PersonaGpu> gpu_from_json(const Json& json) {
  PersonaGpu gpu{.gpu_id = json.at("gpu_id").get<uint32_t>(),
                 .pci_address = json.at("pci_address").get<std::string>(),
                 .marketing_name = json.at("marketing_name").get<std::string>(),
                 .drm_version = json.at("drm_version").get<std::array<int, 3>>()};
  for (const Json& row : json.at("info")) {
    InfoAnswer answer{.query = row.at("query").get<uint32_t>(),
                      .parameters = row.at("parameters").get<std::array<uint32_t, 4>>(),
                      .result = row.value("result", 0)};
    if (answer.result > 0)
      return bad_profile(fmt::format("has a positive errno ({})", answer.result));
    if (answer.result == 0) {
      DOPPEL_ASSIGN(answer.bytes, from_hex(row.at("bytes").get<std::string>()));
    }
    gpu.info.push_back(std::move(answer));
  }
  return gpu;
}

Result<> check_path(const std::string& path) {
  if (path.starts_with("/sys/") && path.find("/..") == std::string::npos) return {};
  return bad_profile(fmt::format("has a file that is not of sysfs ({})", path));
}

Result<Persona> persona_from_json(const Json& json) {
  if (json.value("format", "") != kFormat) return bad_profile("is another kind of file");
  if (const auto version = json.at("version").get<uint32_t>(); version != kVersion) {
    return error(StatusCode::Unsupported,
                 fmt::format("The machine profile has version {}; this program reads {}.", version,
                             kVersion));
  }
  Persona persona;
  persona.source = json.at("source").get<std::string>();
  persona.kfd_minor_version = json.at("kfd_minor_version").get<uint32_t>();
  for (const Json& gpu : json.at("gpus")) {
    DOPPEL_ASSIGN(persona.gpus.emplace_back(), gpu_from_json(gpu));
  }
  for (const auto& [path, content] : json.at("files").items()) {
    DOPPEL_TRY(check_path(path));
    if (content.is_string()) {
      persona.files.emplace(path, content.get<std::string>());
      continue;
    }
    DOPPEL_ASSIGN(const auto bytes, from_hex(content.at("hex").get<std::string>()));
    persona.files.emplace(path, std::string(bytes.begin(), bytes.end()));
  }
  for (const Json& path : json.at("empty_directories")) {
    DOPPEL_TRY(check_path(path.get<std::string>()));
    persona.empty_directories.insert(path.get<std::string>());
  }
  return persona;
}

/// The topology in the persona's files.
class PersonaFiles {
 public:
  explicit PersonaFiles(const Persona& persona) : persona_(persona) {}

  Result<kfd::Properties> properties(const std::string& path) const {
    const auto file = persona_.files.find(path);
    if (file == persona_.files.end()) {
      return bad_profile(fmt::format("lacks a file ({})", path));
    }
    return kfd::Properties::parse(file->second, path);
  }
  /// Numbers of the nodes that are GPUs, or that are CPUs.
  std::vector<uint32_t> nodes(bool gpus) const {
    std::vector<uint32_t> found;
    const std::string root = std::string(kTopologyRoot) + "/nodes/";
    for (const auto& [path, content] : persona_.files) {
      if (!path.starts_with(root) || !path.ends_with("/gpu_id")) continue;
      const bool is_gpu = content != "0\n";
      if (is_gpu == gpus) {
        found.push_back(
            static_cast<uint32_t>(std::strtoul(path.c_str() + root.size(), nullptr, 10)));
      }
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  const Persona& persona_;
};

std::string node_path(uint32_t node, std::string_view file) {
  return fmt::format("{}/nodes/{}/{}", kTopologyRoot, node, file);
}

drm_amdgpu_info_device device_info(const PersonaGpu& gpu) {
  drm_amdgpu_info_device info{};
  const InfoAnswer* answer = gpu.find(AMDGPU_INFO_DEV_INFO, std::array<uint32_t, 4>{});
  if (answer != nullptr) {
    std::memcpy(&info, answer->bytes.data(), std::min(answer->bytes.size(), sizeof info));
  }
  return info;
}

/// What the emulator itself must know; what it only says is answered verbatim.
Result<DeviceProfile> profile_of(const PersonaGpu& gpu, const PersonaFiles& files, uint32_t node) {
  DOPPEL_ASSIGN(const kfd::Properties properties, files.properties(node_path(node, "properties")));
  const auto number = [&](std::string_view key) { return static_cast<uint32_t>(properties[key]); };
  DeviceProfile profile;
  profile.target = find_target_by_version(number("gfx_target_version"));
  if (profile.target == nullptr) {
    return error(StatusCode::Unsupported,
                 fmt::format("The machine profile has a GPU that doppel does not know (node {}, "
                             "gfx_target_version {}).",
                             node, number("gfx_target_version")));
  }
  if (number("num_xcc") > 1) {
    return error(
        StatusCode::Unsupported,
        fmt::format("The machine profile has a GPU of several partitions, which doppel does "
                    "not emulate (node {}, num_xcc {}).",
                    node, number("num_xcc")));
  }
  const uint32_t simds = number("simd_per_cu"), arrays = number("simd_arrays_per_engine");
  if (simds == 0 || arrays == 0 || number("simd_count") < simds || number("array_count") < arrays) {
    return bad_profile(fmt::format("has a GPU without compute units (node {})", node));
  }
  const drm_amdgpu_info_device info = device_info(gpu);
  profile.marketing_name = gpu.marketing_name;
  profile.device_id = static_cast<uint16_t>(properties["device_id"]);
  profile.pci_revision = static_cast<uint8_t>(info.pci_rev);
  profile.external_revision = static_cast<uint8_t>(info.external_rev);
  profile.drm_family = info.family;
  profile.apu = (info.ids_flags & AMDGPU_IDS_FLAGS_FUSION) != 0;
  profile.compute_units = number("simd_count") / simds;
  profile.shader_engines = number("array_count") / arrays;
  profile.arrays_per_engine = arrays;
  profile.simd_per_cu = simds;
  profile.max_waves_per_simd = number("max_waves_per_simd");
  profile.max_slots_scratch_cu = number("max_slots_scratch_cu");
  profile.wave_front_size = number("wave_front_size");
  profile.max_engine_clock_mhz = number("max_engine_clk_fcompute");
  profile.sdma_engines = number("num_sdma_engines");
  profile.sdma_xgmi_engines = number("num_sdma_xgmi_engines");
  profile.sdma_queues_per_engine = number("num_sdma_queues_per_engine");
  profile.cp_queues = number("num_cp_queues");
  profile.num_gws = number("num_gws");
  profile.mec_firmware = number("fw_version");
  profile.sdma_firmware = number("sdma_fw_version");
  profile.gc.major = static_cast<uint8_t>(number("gfx_target_version") / 10000);
  profile.large_bar = false;
  for (uint32_t bank = 0; bank < number("mem_banks_count"); ++bank) {
    DOPPEL_ASSIGN(const kfd::Properties memory,
                  files.properties(node_path(node, fmt::format("mem_banks/{}/properties", bank))));
    profile.large_bar |= memory["heap_type"] == kHeapFrameBufferPublic;
    profile.vram_bytes += memory["size_in_bytes"];
    profile.max_memory_clock_mhz = static_cast<uint32_t>(memory["mem_clk_max"]);
    profile.vram_bus_bits = static_cast<uint32_t>(memory["width"]);
  }
  return profile;
}

}  // namespace

const InfoAnswer* PersonaGpu::find(uint32_t query, std::span<const uint32_t, 4> parameters) const {
  const auto answer = std::ranges::find_if(info, [&](const InfoAnswer& candidate) {
    return candidate.query == query && std::ranges::equal(candidate.parameters, parameters);
  });
  return answer == info.end() ? nullptr : &*answer;
}

std::string to_json(const Persona& persona) {
  Json gpus = Json::array();
  for (const PersonaGpu& gpu : persona.gpus) gpus.push_back(gpu_to_json(gpu));
  Json files = Json::object();
  for (const auto& [path, content] : persona.files) {
    files[path] = is_text(content) ? Json(content) : Json{{"hex", to_hex(content)}};
  }
  return Json{{"format", kFormat},
              {"version", kVersion},
              {"source", persona.source},
              {"kfd_minor_version", persona.kfd_minor_version},
              {"gpus", gpus},
              {"files", files},
              {"empty_directories", persona.empty_directories}}
      .dump(1);
}

Result<Persona> parse_persona(std::string_view text) {
  try {
    return persona_from_json(Json::parse(text));
  } catch (const Json::exception& failure) {
    return bad_profile(fmt::format("does not parse ({})", failure.what()));
  }
}

Result<MachineProfile> emulate(Persona persona) {
  const PersonaFiles files(persona);
  const auto nodes = files.nodes(true);
  if (nodes.empty() || nodes.size() != persona.gpus.size() || nodes.size() > kMaxGpus) {
    return bad_profile(fmt::format("has {} GPUs in its topology and {} beside it", nodes.size(),
                                   persona.gpus.size()));
  }
  MachineProfile machine;
  machine.kfd_minor_version = persona.kfd_minor_version;
  // Names in the profiles are views: into what the machine keeps.
  machine.persona = std::make_shared<const Persona>(std::move(persona));
  const PersonaFiles kept(*machine.persona);
  for (size_t i = 0; i < nodes.size(); ++i) {
    DOPPEL_ASSIGN(machine.gpus.emplace_back(),
                  profile_of(machine.persona->gpus[i], kept, nodes[i]));
  }
  for (const uint32_t cpu : kept.nodes(false)) {
    const auto bank = kept.properties(node_path(cpu, "mem_banks/0/properties"));
    if (bank) machine.host_memory_bytes = (*bank)["size_in_bytes"];
  }
  return machine;
}

Result<MachineProfile> load_persona(const std::string& path) {
  DOPPEL_ASSIGN(const std::string text, read_text_file(path));
  DOPPEL_ASSIGN(Persona persona, parse_persona(text));
  return emulate(std::move(persona));
}

}  // namespace doppel::mock
