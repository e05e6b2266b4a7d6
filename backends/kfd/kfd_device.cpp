#include "backends/kfd/kfd_device.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace doppel::kfd {
namespace {

constexpr uint32_t kMaxNodes = 128;

Result<const TopologyNode*> find_node(const Topology& topology, uint32_t index) {
  const auto gpus = topology.gpus();
  if (index < gpus.size()) return gpus[index];
  if (gpus.empty()) {
    return error(StatusCode::Unavailable, "The topology has no GPU that this process may use.");
  }
  return error(StatusCode::NotFound,
               fmt::format("There is no GPU {}; the topology has {}.", index, gpus.size()));
}

DeviceInfo describe(const TopologyNode& node, const Target& target, std::string name) {
  const auto number = [&node](std::string_view key) {
    return static_cast<uint32_t>(node.properties[key]);
  };
  DeviceInfo info;
  info.name = std::move(name);
  info.target = &target;
  info.node = node.id;
  info.gpu_id = node.gpu_id;
  info.pci_address = node.pci_address();
  info.pci_device_id = number("device_id");
  info.compute_units = node.compute_units();
  info.simds_per_compute_unit = number("simd_per_cu");
  info.max_waves_per_simd = number("max_waves_per_simd");
  info.shader_engines = node.shader_engines();
  info.shader_arrays = number("array_count");
  info.scratch_waves_per_compute_unit = number("max_slots_scratch_cu");
  info.sdma_engines = number("num_sdma_engines") + number("num_sdma_xgmi_engines");
  info.lds_bytes = number("lds_size_in_kb") << 10;
  info.vram_bytes = node.vram_bytes();
  info.visible_vram_bytes = node.visible_vram_bytes();
  info.max_engine_clock_mhz = number("max_engine_clk_fcompute");
  info.firmware_version = number("fw_version");
  info.sdma_firmware_version = number("sdma_fw_version");
  return info;
}

}  // namespace

Result<std::unique_ptr<KfdDevice>> KfdDevice::open(std::shared_ptr<KfdProcess> process,
                                                   uint32_t index, std::string name,
                                                   const DeviceOptions& options) {
  DOPPEL_ASSIGN(const TopologyNode* node, find_node(process->topology(), index));
  const Target* target = node->target();
  if (target == nullptr) {
    return error(
        StatusCode::Unsupported,
        fmt::format("The GPU's target ({}) is not one that doppel knows.", node->gfx_name()));
  }
  auto core = std::make_shared<DeviceCore>();
  core->node = node;
  core->info = describe(*node, *target, std::move(name));
  core->options = options;

  DOPPEL_ASSIGN(core->memory, process->memory_of(*node));
  DOPPEL_ASSIGN(const RenderNodeInfo render,
                process->kernel().render_node_info(core->memory->render_fd()));
  core->info.marketing_name = render.marketing_name;
  core->info.driver = fmt::format("kfd {}.{}, {} {}.{}.{}", process->driver().version_major(),
                                  process->driver().version_minor(), render.driver_name,
                                  render.driver_major, render.driver_minor, render.driver_patch);
  core->doorbells = std::make_unique<Doorbells>(process->shared_driver());
  core->process = std::move(process);

  std::unique_ptr<KfdDevice> device(new KfdDevice(std::move(core)));
  device->core_->device = device.get();
  device->core_->process->device_opened();
  DOPPEL_TRY(device->read_apertures());
  DOPPEL_ASSIGN(device->first_sample_, device->read_clocks());
  auto host_flush = HostFlush::open(device->core_->process->shared_driver(), node->gpu_id);
  if (host_flush) device->host_flush_ = *std::move(host_flush);
  return device;
}

KfdDevice::~KfdDevice() {
  (void)close_within({.timeout = KfdQueue::kDestroyTimeout});
  core_->device = nullptr;
}

Result<> KfdDevice::read_apertures() {
  std::vector<kfd_process_device_apertures> nodes(kMaxNodes);
  kfd_ioctl_get_process_apertures_new_args args{};
  args.kfd_process_device_apertures_ptr = reinterpret_cast<uint64_t>(nodes.data());
  args.num_of_nodes = kMaxNodes;
  DOPPEL_TRY(core_->process->driver().call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args,
                                           "tell the process's apertures"));
  nodes.resize(std::min(args.num_of_nodes, kMaxNodes));
  auto node = std::ranges::find(nodes, core_->info.gpu_id, &kfd_process_device_apertures::gpu_id);
  if (node == nodes.end()) {
    return error(StatusCode::System,
                 fmt::format("The driver tells no apertures for GPU {}.", core_->info.gpu_id));
  }
  core_->apertures = {.lds_base = node->lds_base, .scratch_base = node->scratch_base};
  return {};
}

Result<KfdDevice::ClockSample> KfdDevice::read_clocks() const {
  kfd_ioctl_get_clock_counters_args args{};
  args.gpu_id = core_->info.gpu_id;
  DOPPEL_TRY(core_->process->driver().call(AMDKFD_IOC_GET_CLOCK_COUNTERS, args,
                                           "read its clock counters"));
  return ClockSample{.gpu_ticks = args.gpu_clock_counter, .host_ns = args.cpu_clock_counter};
}

Result<ClockFit> KfdDevice::clock_fit() {
  DOPPEL_ASSIGN(const ClockSample now, read_clocks());
  ClockFit fit{.gpu_origin = first_sample_.gpu_ticks, .host_origin_ns = first_sample_.host_ns};
  const uint64_t ticks = now.gpu_ticks - first_sample_.gpu_ticks;
  const uint64_t ns = now.host_ns - first_sample_.host_ns;
  // Two readings close together say nothing of the rate: the nominal one is better.
  constexpr uint64_t kMinTicks = kGpuCounterHz / 1000;
  if (ticks >= kMinTicks) fit.ns_per_tick = static_cast<double>(ns) / static_cast<double>(ticks);
  return fit;
}

Result<> KfdDevice::check_open() const {
  if (open_) return {};
  return error(StatusCode::Unavailable,
               fmt::format("The device ({}) has been closed.", core_->info.name));
}

Result<Allocation> KfdDevice::allocate(uint64_t bytes, const AllocationOptions& options) {
  DOPPEL_TRY(check_open());
  return core_->memory->allocate(bytes, options, {this, core_->ledger});
}

Result<const KfdAllocation*> KfdDevice::own_kind(const MemoryView& memory) const {
  const auto* state = dynamic_cast<const KfdAllocation*>(memory.allocation);
  if (state != nullptr && state->is_of(core_->process->driver())) return state;
  return error(StatusCode::InvalidArgument,
               "The allocation is empty, or not of the process that the device belongs to.");
}

Result<> KfdDevice::map(const MemoryView& memory) {
  DOPPEL_TRY(check_open());
  DOPPEL_ASSIGN(const KfdAllocation* state, own_kind(memory));
  return core_->memory->map(*state);
}

Result<> KfdDevice::unmap(const MemoryView& memory) {
  DOPPEL_TRY(check_open());
  DOPPEL_ASSIGN(const KfdAllocation* state, own_kind(memory));
  return core_->memory->unmap(*state);
}

bool KfdDevice::is_mapped(const MemoryView& memory) const {
  const auto state = own_kind(memory);
  return state && core_->memory->is_mapped(**state);
}

Result<Signal> KfdDevice::create_signal(const SignalOptions& options) {
  DOPPEL_TRY(check_open());
  core_->user_signals += 1;
  const std::shared_ptr<void> lease(nullptr, [core = core_](void*) { core->user_signals -= 1; });
  return core_->process->signals().create(options, lease);
}

Result<std::unique_ptr<Queue>> KfdDevice::create_queue(const QueueOptions& options) {
  DOPPEL_TRY(check_open());
  return KfdQueue::create(core_, options);
}

Result<Queue*> KfdDevice::default_queue(QueueKind kind) {
  DOPPEL_TRY(check_open());
  const std::scoped_lock lock(queues_mutex_);
  auto& queue = default_queues_[kind];
  if (queue == nullptr) {
    DOPPEL_ASSIGN(queue, KfdQueue::create(core_, {.kind = kind}));
  }
  return queue.get();
}

Result<> KfdDevice::synchronize(const WaitOptions& options) {
  DOPPEL_TRY(check_open());
  // The lock keeps the queues from going away; who destroys one waits for us.
  const std::scoped_lock lock(core_->queues_mutex);
  for (KfdQueue* queue : core_->queues) DOPPEL_TRY(queue->synchronize(options));
  return {};
}

Result<> KfdDevice::flush_host_writes() {
  DOPPEL_TRY(check_open());
  if (host_flush_ != nullptr) {
    host_flush_->flush();
    return {};
  }
  DOPPEL_TRY(compute().memory_barrier().submit());
  DOPPEL_ASSIGN(Queue * queue, default_queue(QueueKind::Pm4));
  return queue->synchronize();
}

Result<verify::FindingLog> KfdDevice::findings() {
  if (auto log = core_->process->kernel().findings()) return *std::move(log);
  return Device::findings();
}

Result<> KfdDevice::close() {
  return close_within({});
}

Result<> KfdDevice::close_within(const WaitOptions& drain) {
  if (!open_) return {};
  Result<> result = synchronize(drain);
  if (!open_.exchange(false)) return {};
  {
    // Others may hold pointers to them, which refuse what they are given from now on.
    const std::scoped_lock lock(queues_mutex_);
    for (auto& [kind, queue] : default_queues_) {
      if (queue) (void)queue->close();
    }
  }
  host_flush_.reset();
  const Result<> forgotten = core_->process->device_closed();
  if (!result) return result;
  if (!forgotten) return forgotten;

  const MemoryLedger& ledger = *core_->ledger;
  const std::scoped_lock lock(core_->queues_mutex);
  if (ledger.count == 0 && core_->user_signals == 0 && core_->queues.empty()) return {};
  return error(StatusCode::Exhausted,
               fmt::format("The device ({}) closes with {} allocations ({} bytes), {} signals and "
                           "{} queues still alive.",
                           core_->info.name, ledger.count.load(), ledger.bytes.load(),
                           core_->user_signals.load(), core_->queues.size()));
}

}  // namespace doppel::kfd
