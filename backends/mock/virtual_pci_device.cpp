// The sysfs directory of a GPU as a PCI device with its render node: what libdrm, tinygrad and
// rocm-smi read. Spelling: Linux Documentation/ABI/testing/sysfs-bus-pci, amdgpu_discovery.c.
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "backends/mock/virtual_topology.h"

namespace doppel::mock {
namespace {

constexpr uint32_t kDrmMajor = 226;
constexpr uint32_t kDisplayController = 0x030000;
constexpr size_t kPciConfigBytes = 256;

/// Hardware ids of IP discovery (Linux soc15_hw_ip.h).
using Bases = std::span<const uint32_t>;

struct IpBlock {
  uint32_t hw_id;
  std::string_view name;
  IpVersion DeviceProfile::*version;
  Bases bases;  // of the register segments, in dwords
  bool present = true;
};

// Linux navi10_ip_offset.h and vega10_ip_offset.h. SDMA's registers lie in GC's segments on Navi.
constexpr uint32_t kNaviGc[] = {0x1260, 0xa000, 0x1c000, 0x2402c00};
constexpr uint32_t kNaviNbif[] = {0x0, 0x14, 0xd20, 0x10400, 0x241b000};
constexpr uint32_t kVegaGc[] = {0x2000, 0xa000};
constexpr uint32_t kVegaSdma0[] = {0x1260};
constexpr uint32_t kVegaSdma1[] = {0x1860};
constexpr uint32_t kVegaNbif[] = {0x0, 0x14, 0xd20, 0x10400};

std::string base_addresses(Bases bases) {
  std::string text;
  for (uint32_t base : bases) text += fmt::format("0x{:08X}\n", base);
  return text;
}

void put16(std::string& config, size_t at, uint16_t value) {
  config[at] = static_cast<char>(value & 0xff);
  config[at + 1] = static_cast<char>(value >> 8);
}

/// PCI configuration space: the header's identification, nothing else.
std::string pci_config(const DeviceProfile& gpu) {
  std::string config(kPciConfigBytes, '\0');
  put16(config, 0x00, kAmdVendorId);
  put16(config, 0x02, gpu.device_id);
  config[0x08] = static_cast<char>(gpu.pci_revision);
  config[0x0b] = static_cast<char>(kDisplayController >> 16);
  put16(config, 0x2c, kAmdVendorId);
  put16(config, 0x2e, gpu.device_id);
  return config;
}

void add_ip_discovery(SysfsTree& tree, const std::string& device, const DeviceProfile& gpu) {
  const bool navi = gpu.gc.major >= 10;
  const Bases gc = navi ? Bases(kNaviGc) : Bases(kVegaGc);
  const Bases nbif = navi ? Bases(kNaviNbif) : Bases(kVegaNbif);
  const IpBlock blocks[] = {
      {11, "GC", &DeviceProfile::gc, gc},
      {42, "SDMA0", &DeviceProfile::sdma, navi ? gc : Bases(kVegaSdma0)},
      {43, "SDMA1", &DeviceProfile::sdma, navi ? gc : Bases(kVegaSdma1), gpu.sdma_engines > 1},
      {108, "NBIF", &DeviceProfile::nbif, nbif},
  };
  const std::string die = device + "/ip_discovery/die/0";
  uint32_t count = 0;
  for (const IpBlock& block : blocks) {
    if (!block.present) continue;
    ++count;
    const IpVersion& version = gpu.*block.version;
    const std::string instance = fmt::format("{}/{}/0", die, block.hw_id);
    tree.add_file(instance + "/hw_id", fmt::format("{}\n", block.hw_id));
    tree.add_file(instance + "/num_instance", "0\n");
    tree.add_file(instance + "/major", fmt::format("{}\n", version.major));
    tree.add_file(instance + "/minor", fmt::format("{}\n", version.minor));
    tree.add_file(instance + "/revision", fmt::format("{}\n", version.revision));
    tree.add_file(instance + "/harvest", "0x0\n");
    tree.add_file(instance + "/num_base_addresses", fmt::format("{}\n", block.bases.size()));
    tree.add_file(instance + "/base_addr", base_addresses(block.bases));
    tree.add_link(fmt::format("{}/{}", die, block.name), fmt::format("{}/{}", die, block.hw_id));
  }
  tree.add_file(die + "/num_ips", fmt::format("{}\n", count));
}

void add_attributes(SysfsTree& tree, const std::string& device, const VirtualGpu& gpu) {
  const DeviceProfile& profile = gpu.profile();
  const auto hex = [](uint32_t value, int digits) {
    return fmt::format("0x{:0{}x}\n", value, digits);
  };
  tree.add_file(device + "/vendor", hex(kAmdVendorId, 4));
  tree.add_file(device + "/device", hex(profile.device_id, 4));
  tree.add_file(device + "/subsystem_vendor", hex(kAmdVendorId, 4));
  tree.add_file(device + "/subsystem_device", hex(profile.device_id, 4));
  tree.add_file(device + "/revision", hex(profile.pci_revision, 2));
  tree.add_file(device + "/class", hex(kDisplayController, 6));
  tree.add_file(device + "/config", pci_config(profile));
  tree.add_file(device + "/unique_id", fmt::format("{:016x}\n", gpu.unique_id()));
  tree.add_file(device + "/mem_info_vram_total", fmt::format("{}\n", profile.vram_bytes));
  tree.add_file(device + "/mem_info_vis_vram_total",
                fmt::format("{}\n", profile.visible_vram_bytes()));
  tree.add_file(device + "/power_dpm_force_performance_level", "auto\n");
  tree.add_file(device + "/uevent",
                fmt::format("DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID={:04X}:{:04X}\n"
                            "PCI_SUBSYS_ID={:04X}:{:04X}\nPCI_SLOT_NAME={}\n",
                            kAmdVendorId, profile.device_id, kAmdVendorId, profile.device_id,
                            gpu.pci().to_string()));
}

std::string device_path(const VirtualGpu& gpu) {
  return fmt::format("/sys/devices/pci{:04x}:00/{}", gpu.pci().domain, gpu.pci().to_string());
}

}  // namespace

void add_pci_device(SysfsTree& tree, const VirtualGpu& gpu) {
  const std::string device = device_path(gpu);
  add_attributes(tree, device, gpu);
  add_ip_discovery(tree, device, gpu.profile());
  add_pci_links(tree, gpu);
}

void add_pci_links(SysfsTree& tree, const VirtualGpu& gpu) {
  const std::string device = device_path(gpu);
  tree.add_link(device + "/driver", "/sys/bus/pci/drivers/amdgpu");
  tree.add_link(device + "/subsystem", "/sys/bus/pci");
  const std::string name = fmt::format("renderD{}", gpu.render_minor());
  const std::string node = fmt::format("{}/drm/{}", device, name);
  const std::string number = fmt::format("{}:{}", kDrmMajor, gpu.render_minor());
  tree.add_file(node + "/dev", number + "\n");
  tree.add_file(node + "/uevent",
                fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n", kDrmMajor,
                            gpu.render_minor(), name));
  tree.add_link(node + "/device", device);
  tree.add_link(node + "/subsystem", "/sys/class/drm");
  tree.add_link("/sys/class/drm/" + name, node);
  tree.add_link("/sys/dev/char/" + number, node);
  tree.add_directory("/sys/bus/pci/drivers/amdgpu");
  tree.add_link("/sys/bus/pci/devices/" + gpu.pci().to_string(), device);
}

}  // namespace doppel::mock
