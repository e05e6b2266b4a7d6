// From the device nodes to an address space on the GPU.
#include <algorithm>

#include <fmt/format.h>

#include "backends/kfd/kfd_abi.h"
#include "tools/selftest/bench.h"

namespace doppel::selftest {
namespace {

constexpr uint32_t kMaxNodes = 128;
constexpr int kAmdgpuMajor = 3;

Result<Done> open_kfd(Bench& bench) {
  DOPPEL_TRY(kfd::Descriptor::open(bench.kernel, "/dev/kfd"));
  return Done{};
}

Result<Done> read_version(Bench& bench) {
  DOPPEL_ASSIGN(const auto driver, kfd::KfdDriver::open(bench.kernel));
  return Done{fmt::format("kfd {}.{}", driver->version_major(), driver->version_minor())};
}

Result<Done> read_topology(Bench& bench) {
  DOPPEL_ASSIGN(bench.process, kfd::KfdProcess::open(bench.kernel));
  const kfd::Topology& topology = bench.process->topology();
  return Done{fmt::format("{} nodes, {} GPUs", topology.nodes.size(), topology.gpus().size())};
}

Result<Done> find_gpu(Bench& bench) {
  const auto gpus = bench.process->topology().gpus();
  if (bench.gpu_index >= gpus.size()) {
    return error(StatusCode::NotFound,
                 fmt::format("The topology has no GPU {} that this process may use; it has {}.",
                             bench.gpu_index, gpus.size()));
  }
  const kfd::TopologyNode& node = *gpus[bench.gpu_index];
  if (node.target() == nullptr) {
    return error(
        StatusCode::Unsupported,
        fmt::format("The GPU's target ({}) is not one that doppel knows.", node.gfx_name()));
  }
  bench.node = &node;
  return Done{fmt::format("{}, node {}, {} CUs, {} MiB VRAM, {}", node.gfx_name(), node.id,
                          node.compute_units(), node.vram_bytes() >> 20, node.pci_address())};
}

std::string render_path(const Bench& bench) {
  return fmt::format("/dev/dri/renderD{}", bench.node->properties["drm_render_minor"]);
}

Result<Done> open_render_node(Bench& bench) {
  if (bench.node->properties["drm_render_minor"] == 0) {
    return error(StatusCode::NotFound,
                 fmt::format("Node {} of the topology names no render node (drm_render_minor 0).",
                             bench.node->id));
  }
  DOPPEL_TRY(kfd::Descriptor::open(bench.kernel, render_path(bench)));
  return Done{render_path(bench)};
}

Result<Done> ask_drm_driver(Bench& bench) {
  DOPPEL_ASSIGN(const kfd::Descriptor render,
                kfd::Descriptor::open(bench.kernel, render_path(bench)));
  DOPPEL_ASSIGN(const kfd::RenderNodeInfo info, bench.kernel->render_node_info(render.get()));
  const std::string version = fmt::format("{} {}.{}.{}", info.driver_name, info.driver_major,
                                          info.driver_minor, info.driver_patch);
  if (info.driver_name != "amdgpu" || info.driver_major != kAmdgpuMajor) {
    return error(
        StatusCode::Unsupported,
        fmt::format("The render node's driver is not amdgpu {}.x ({}).", kAmdgpuMajor, version));
  }
  return Done{fmt::format("{}, {}", version,
                          info.marketing_name.empty() ? "unnamed" : info.marketing_name)};
}

Result<Done> acquire_vm(Bench& bench) {
  DOPPEL_ASSIGN(bench.memory, bench.process->address_space_of(*bench.node));
  return Done{};
}

Result<Done> read_apertures(Bench& bench) {
  std::vector<kfd_process_device_apertures> nodes(kMaxNodes);
  kfd_ioctl_get_process_apertures_new_args args{};
  args.kfd_process_device_apertures_ptr = reinterpret_cast<uint64_t>(nodes.data());
  args.num_of_nodes = kMaxNodes;
  DOPPEL_TRY(bench.process->driver().call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args,
                                          "tell the process's apertures"));
  nodes.resize(std::min(args.num_of_nodes, kMaxNodes));
  const auto node =
      std::ranges::find(nodes, bench.node->gpu_id, &kfd_process_device_apertures::gpu_id);
  if (node == nodes.end()) {
    return wrong(fmt::format("The driver tells no apertures for GPU {}.", bench.node->gpu_id));
  }
  return Done{fmt::format("LDS {:#x}, scratch {:#x}", node->lds_base, node->scratch_base)};
}

Result<Done> read_clocks(Bench& bench) {
  kfd_ioctl_get_clock_counters_args first{}, second{};
  first.gpu_id = second.gpu_id = bench.node->gpu_id;
  constexpr std::string_view kWhat = "read its clock counters";
  DOPPEL_TRY(bench.process->driver().call(AMDKFD_IOC_GET_CLOCK_COUNTERS, first, kWhat));
  bench.kernel->relax();
  DOPPEL_TRY(bench.process->driver().call(AMDKFD_IOC_GET_CLOCK_COUNTERS, second, kWhat));
  if (second.gpu_clock_counter < first.gpu_clock_counter ||
      second.system_clock_counter < first.system_clock_counter) {
    return wrong(fmt::format("A clock goes backwards (GPU {} to {}, system {} to {}).",
                             first.gpu_clock_counter, second.gpu_clock_counter,
                             first.system_clock_counter, second.system_clock_counter));
  }
  if (second.system_clock_freq == 0) return wrong("The system clock has no frequency (0).");
  return Done{fmt::format("system clock {} Hz", second.system_clock_freq)};
}

}  // namespace

void add_driver_steps(std::vector<Step>& steps) {
  steps.push_back({"open-kfd", "open /dev/kfd", {}, open_kfd});
  steps.push_back({"kfd-version", "ask the driver's version", {"open-kfd"}, read_version});
  steps.push_back({"topology", "read the topology", {"kfd-version"}, read_topology});
  steps.push_back({"gpu-node", "find the GPU", {"topology"}, find_gpu});
  steps.push_back({"render-node", "open the render node", {"gpu-node"}, open_render_node});
  steps.push_back({"drm-driver", "ask the DRM driver", {"render-node"}, ask_drm_driver});
  steps.push_back({"acquire-vm", "acquire an address space", {"render-node"}, acquire_vm});
  steps.push_back({"apertures", "read the apertures", {"gpu-node"}, read_apertures});
  steps.push_back({"clocks", "read the clocks", {"gpu-node"}, read_clocks});
}

}  // namespace doppel::selftest
