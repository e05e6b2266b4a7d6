#include "backends/mock/machine.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "backends/mock/persona.h"
#include "backends/mock/recorded_schedule.h"
#include "core/align.h"
#include "core/prng.h"
#include "emulator/pct_schedule.h"

namespace doppel::mock {
namespace {

constexpr uint64_t kVramAvailabilityAlign = uint64_t{2} << 20;
constexpr uint64_t kDriverReserve = uint64_t{512} << 20;  // AMDGPU_RESERVE_MEM_LIMIT
constexpr uint8_t kFirstBus = 3;
constexpr int kGpuIdBits = 16;

/// Linux include/linux/hash.h: hash_32.
uint32_t hash_32(uint32_t value, int bits) {
  return (value * 0x61c88647u) >> (32 - bits);
}

emu::GpuConfig engine_config(const DeviceProfile& gpu, const MachineProfile& machine) {
  emu::GpuConfig config;
  config.target = gpu.target;
  config.compute_units = gpu.compute_units;
  config.sdma_engines = gpu.sdma_engines + gpu.sdma_xgmi_engines;
  config.shader_engines = gpu.shader_engines;
  config.workers = machine.workers;
  config.instruction_budget = machine.instruction_budget;
  config.coverage = machine.coverage;
  return config;
}

/// The schedule that the profile's settings ask for, or nullptr.
std::unique_ptr<emu::Schedule> make_schedule(const MachineProfile& profile) {
  if (profile.recorded_schedule) {
    return std::make_unique<RecordedSchedule>(*profile.recorded_schedule);
  }
  if (profile.pct_depth != 0) {
    return std::make_unique<emu::PctSchedule>(profile.seed, profile.pct_depth);
  }
  return nullptr;
}

}  // namespace

std::string PciAddress::to_string() const {
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", domain, bus, device_function >> 3,
                     device_function & 7);
}

VirtualGpu::VirtualGpu(const DeviceProfile& profile, uint32_t index, emu::Gpu& engine,
                       const PersonaGpu* persona)
    : profile_(profile),
      persona_(persona),
      index_(index),
      engine_(&engine),
      pci_(place(index)),
      gpu_id_(persona != nullptr ? persona->gpu_id : hash_id(profile, pci_)) {}

PciAddress VirtualGpu::place(uint32_t index) {
  return {.bus = static_cast<uint8_t>(kFirstBus + index)};
}

uint32_t VirtualGpu::hash_id(const DeviceProfile& profile, const PciAddress& pci) {
  // Linux kfd_topology.c: kfd_generate_gpu_id.
  const uint32_t words[] = {pci.device_function,
                            uint32_t{kAmdVendorId} | uint32_t{profile.device_id} << 16,
                            pci.domain,
                            profile.device_id,
                            pci.bus,
                            static_cast<uint32_t>(profile.vram_bytes),
                            static_cast<uint32_t>(profile.vram_bytes >> 32),
                            uint32_t{1} << 16};
  uint32_t id = 0;
  for (uint32_t word : words) id ^= hash_32(word, kGpuIdBits);
  return id;
}

uint64_t VirtualGpu::unique_id() const {
  return Prng(uint64_t{profile_.device_id} << 32 | index_).next();
}

uint32_t VirtualGpu::pool_engines(SdmaPool pool) const {
  return pool == SdmaPool::Pcie ? profile_.sdma_engines : profile_.sdma_xgmi_engines;
}

std::bitset<kMaxSdmaQueues>& VirtualGpu::pool_queues(SdmaPool pool) {
  return pool == SdmaPool::Pcie ? sdma_pcie_ : sdma_xgmi_;
}

int VirtualGpu::acquire_sdma(SdmaPool pool, SdmaSlot& slot) {
  const uint32_t engines = pool_engines(pool);
  auto& queues = pool_queues(pool);
  for (uint32_t index = 0; index < engines * profile_.sdma_queues_per_engine; ++index) {
    if (queues.test(index)) continue;
    queues.set(index);
    const uint32_t first_engine = pool == SdmaPool::Pcie ? 0 : profile_.sdma_engines;
    slot = {index, first_engine + index % engines, index / engines};
    return 0;
  }
  return -ENOMEM;
}

void VirtualGpu::release_sdma(SdmaPool pool, uint32_t index) {
  pool_queues(pool).reset(index);
}

Machine::Machine(MachineProfile profile)
    : profile_(std::move(profile)),
      faults_(profile_.faults ? *profile_.faults : FaultPlan()),
      schedule_(make_schedule(profile_)),
      simulator_({.seed = profile_.seed,
                  .schedule = profile_.schedule ? profile_.schedule : schedule_.get()}) {
  for (uint32_t index = 0; index < profile_.gpus.size(); ++index) {
    const DeviceProfile& model = profile_.gpus[index];
    const PersonaGpu* persona = profile_.persona ? &profile_.persona->gpus[index] : nullptr;
    VirtualGpu gpu(model, index, simulator_.add_gpu(engine_config(model, profile_)), persona);
    while (gpu.gpu_id() == 0 || find_gpu(gpu.gpu_id()) != nullptr)
      gpu.set_gpu_id((gpu.gpu_id() + 1) & ((1u << kGpuIdBits) - 1));
    gpus_.push_back(std::move(gpu));
  }
}

VirtualGpu* Machine::find_gpu(uint32_t gpu_id) {
  auto gpu = std::ranges::find(gpus_, gpu_id, &VirtualGpu::gpu_id);
  return gpu == gpus_.end() ? nullptr : &*gpu;
}

uint64_t Machine::page_table_reserve() const {
  // Linux amdgpu_amdkfd_gpuvm.c: ESTIMATE_PT_SIZE of all memory GPUs may map.
  uint64_t total = profile_.host_memory_bytes;
  for (const VirtualGpu& gpu : gpus_) total += gpu.profile().vram_bytes;
  return total >> 14;
}

int Machine::charge(VirtualGpu& gpu, MemoryPool pool, uint64_t bytes) {
  const uint64_t system_limit =
      profile_.host_memory_bytes - (profile_.host_memory_bytes >> 6) - kDriverReserve;
  switch (pool) {
    case MemoryPool::Vram: {
      const uint64_t limit = gpu.profile().vram_bytes - page_table_reserve();
      if (bytes > limit || gpu.vram_used_ > limit - bytes) return -ENOMEM;
      gpu.vram_used_ += bytes;
      gpu.vram_used_aligned_ += align_up(bytes, kVramAvailabilityAlign);
      return 0;
    }
    case MemoryPool::Gtt:
      if (bytes > gtt_limit() || gtt_used_ > gtt_limit() - bytes) return -ENOMEM;
      if (system_used_ > system_limit - bytes) return -ENOMEM;
      gtt_used_ += bytes;
      system_used_ += bytes;
      return 0;
    case MemoryPool::System:
      if (bytes > system_limit || system_used_ > system_limit - bytes) return -ENOMEM;
      system_used_ += bytes;
      return 0;
    case MemoryPool::None:
      return 0;
  }
  return -EINVAL;
}

void Machine::uncharge(VirtualGpu& gpu, MemoryPool pool, uint64_t bytes) {
  if (pool == MemoryPool::Vram) {
    gpu.vram_used_ -= bytes;
    gpu.vram_used_aligned_ -= align_up(bytes, kVramAvailabilityAlign);
  }
  if (pool == MemoryPool::Gtt) gtt_used_ -= bytes;
  if (pool == MemoryPool::Gtt || pool == MemoryPool::System) system_used_ -= bytes;
}

uint64_t Machine::available_vram(const VirtualGpu& gpu) const {
  const uint64_t taken = gpu.vram_used_aligned() + page_table_reserve();
  const uint64_t total = gpu.profile().vram_bytes;
  return taken >= total ? 0 : (total - taken) / kVramAvailabilityAlign * kVramAvailabilityAlign;
}

}  // namespace doppel::mock
