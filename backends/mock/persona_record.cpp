// Asking a machine for its persona. What is asked: the whole KFD topology; of each GPU's PCI device
// the attributes that clients read; of its render node what AMDGPU_INFO answers without state.
#include <fcntl.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include <algorithm>
#include <cerrno>
#include <regex>

#include <fmt/format.h>

#include "backends/kfd/kfd_driver.h"
#include "backends/kfd/topology.h"
#include "backends/mock/machine.h"
#include "backends/mock/persona.h"
#include "backends/mock/virtual_drm.h"
#include "backends/mock/virtual_topology.h"

namespace doppel::mock {
namespace {

constexpr int kMaxDepth = 10;
constexpr size_t kMaxAnswerBytes = 4096;
constexpr uint32_t kFirmwareTypes = 32;
constexpr uint32_t kFirmwareIndices = 4;

constexpr std::array kPciAttributes = {"vendor",
                                       "device",
                                       "subsystem_vendor",
                                       "subsystem_device",
                                       "revision",
                                       "class",
                                       "config",
                                       "unique_id",
                                       "mem_info_vram_total",
                                       "mem_info_vis_vram_total",
                                       "power_dpm_force_performance_level",
                                       "uevent"};

using Files = std::map<std::string, std::string>;

/// All files below `path`; what can't be read is left out, as it would be for a client.
void add_tree(kfd::KernelAbi& kernel, const std::string& path, Persona& to, int depth = 0) {
  if (depth == kMaxDepth) return;
  const auto names = kernel.list_dir(path);
  if (!names) {
    if (auto content = kernel.read_file(path)) to.files.emplace(path, *std::move(content));
    return;
  }
  if (names->empty()) to.empty_directories.insert(path);
  for (const std::string& name : *names) add_tree(kernel, path + "/" + name, to, depth + 1);
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string set_property(std::string text, std::string_view key, uint64_t value) {
  const std::string line = fmt::format("{} ", key);
  size_t at = text.starts_with(line) ? 0 : text.find("\n" + line);
  if (at == std::string::npos) return text;
  if (at != 0) ++at;
  const size_t end = std::min(text.find('\n', at), text.size());
  return text.replace(at, end - at, fmt::format("{}{}", line, value));
}

/// Where the emulator puts the GPU.
struct Place {
  PciAddress pci;
  uint32_t minor = 0;
};

void add_pci_device(kfd::KernelAbi& kernel, const kfd::TopologyNode& node, const Place& place,
                    Files& files) {
  const std::string from = fmt::format("/sys/bus/pci/devices/{}", node.pci_address());
  Files found;
  for (const char* attribute : kPciAttributes) {
    if (auto content = kernel.read_file(fmt::format("{}/{}", from, attribute))) {
      found.emplace(fmt::format("/{}", attribute), *std::move(content));
    }
  }
  Persona discovery;
  add_tree(kernel, from + "/ip_discovery", discovery);
  for (auto& [path, content] : discovery.files) found.emplace(path.substr(from.size()), content);
  const std::string to =
      fmt::format("/sys/devices/pci{:04x}:00/{}", place.pci.domain, place.pci.to_string());
  for (auto& [path, content] : found) {
    files.emplace(to + path, replace_all(content, node.pci_address(), place.pci.to_string()));
  }
}

void move_node(const kfd::TopologyNode& node, const Place& place, Files& files) {
  const auto file = files.find(fmt::format("{}/nodes/{}/properties", kTopologyRoot, node.id));
  if (file == files.end()) return;
  std::string& text = file->second;
  text = set_property(std::move(text), "location_id", place.pci.location_id());
  text = set_property(std::move(text), "domain", place.pci.domain);
  text = set_property(std::move(text), "drm_render_minor", place.minor);
}

int ask(kfd::KernelAbi& kernel, int fd, drm_amdgpu_info query, std::vector<uint8_t>& out) {
  out.resize(kMaxAnswerBytes);
  query.return_pointer = reinterpret_cast<uint64_t>(out.data());
  query.return_size = kMaxAnswerBytes;
  const unsigned long request = DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info);
  int result = -EINTR;
  while (result == -EINTR) result = kernel.ioctl(fd, request, &query);
  return result;
}

/// Asks twice over different backgrounds: what shows through was not written.
InfoAnswer record_answer(kfd::KernelAbi& kernel, int fd, const drm_amdgpu_info& query) {
  InfoAnswer answer{.query = query.query};
  static_assert(sizeof query - offsetof(drm_amdgpu_info, mode_crtc) >= sizeof answer.parameters);
  std::copy_n(reinterpret_cast<const uint32_t*>(&query.mode_crtc), 4, answer.parameters.begin());
  std::vector<uint8_t> ones(kMaxAnswerBytes, 0xff);
  answer.result = std::min(ask(kernel, fd, query, answer.bytes), 0);
  if (answer.result == 0) answer.result = std::min(ask(kernel, fd, query, ones), 0);
  size_t size = kMaxAnswerBytes;
  while (size != 0 && answer.bytes[size - 1] == 0 && ones[size - 1] == 0xff) --size;
  answer.bytes.resize(answer.result == 0 ? size : 0);
  return answer;
}

std::vector<InfoAnswer> record_info(kfd::KernelAbi& kernel, int fd) {
  std::vector<InfoAnswer> answers;
  const auto add = [&](uint32_t number, const std::array<uint32_t, 4>& parameters) {
    drm_amdgpu_info query{};
    query.query = number;
    std::copy_n(parameters.begin(), 4, reinterpret_cast<uint32_t*>(&query.mode_crtc));
    answers.push_back(record_answer(kernel, fd, query));
  };
  for (uint32_t number :
       {AMDGPU_INFO_ACCEL_WORKING, AMDGPU_INFO_DEV_INFO, AMDGPU_INFO_GDS_CONFIG}) {
    add(number, {});
  }
  for (uint32_t type = 0; type < AMDGPU_HW_IP_NUM; ++type) {
    add(AMDGPU_INFO_HW_IP_INFO, {type});
    add(AMDGPU_INFO_HW_IP_COUNT, {type});
  }
  for (uint32_t type = 1; type < kFirmwareTypes; ++type) {
    for (uint32_t index = 0; index < kFirmwareIndices; ++index) {
      add(AMDGPU_INFO_FW_VERSION, {type, 0, index});
      if (answers.back().result == 0) continue;
      if (index != 0) answers.pop_back();  // one refusal a type says it
      break;
    }
  }
  add(AMDGPU_INFO_READ_MMR_REG, {kGbAddrConfig, 1, ~uint32_t{0}, 0});
  return answers;
}

}  // namespace

Result<Persona> record_persona(kfd::KernelAbi& kernel, std::string source) {
  // The caller keeps the kernel; descriptors want to share it.
  const std::shared_ptr<kfd::KernelAbi> shared(&kernel, [](kfd::KernelAbi*) {});
  DOPPEL_ASSIGN(const auto driver, kfd::KfdDriver::open(shared));
  DOPPEL_ASSIGN(const kfd::Topology topology, kfd::read_topology(kernel));
  Persona persona;
  persona.source = std::move(source);
  persona.kfd_minor_version = driver->version_minor();
  add_tree(kernel, kTopologyRoot, persona);
  for (const kfd::TopologyNode* node : topology.gpus()) {
    const auto index = static_cast<uint32_t>(persona.gpus.size());
    const Place place{.pci = VirtualGpu::place(index), .minor = kFirstRenderMinor + index};
    DOPPEL_ASSIGN(const kfd::Descriptor render,
                  kfd::Descriptor::open(shared, fmt::format("/dev/dri/renderD{}",
                                                            node->properties["drm_render_minor"])));
    DOPPEL_ASSIGN(const kfd::RenderNodeInfo info, kernel.render_node_info(render.get()));
    persona.gpus.push_back(
        {.gpu_id = node->gpu_id,
         .pci_address = node->pci_address(),
         .marketing_name = info.marketing_name,
         .drm_version = {info.driver_major, info.driver_minor, info.driver_patch},
         .info = record_info(kernel, render.get())});
    add_pci_device(kernel, *node, place, persona.files);
    move_node(*node, place, persona.files);
  }
  return persona;
}

}  // namespace doppel::mock
