// Machine: the hardware side of the driver model. Owns the simulator and, for each GPU, what is
// the same for every client: its identity on the bus, its emulated engines and the accounting of
// its memory. Not thread-safe: the VirtualKernel's lock guards it.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/mock/device_profile.h"
#include "backends/mock/fault_plan.h"
#include "emulator/schedule.h"
#include "emulator/simulator.h"

namespace doppel::mock {

struct PersonaGpu;

inline constexpr uint32_t kFirstRenderMinor = 128;
inline constexpr uint32_t kMaxSdmaQueues = 128;

/// Which of the two SDMA pools a queue draws from.
enum class SdmaPool : uint8_t { Pcie, Xgmi };

/// An SDMA queue's place: engines are numbered over both pools.
struct SdmaSlot {
  uint32_t index = 0;  // in its pool
  uint32_t engine = 0;
  uint32_t queue = 0;  // on the engine
};

struct PciAddress {
  uint16_t domain = 0;
  uint8_t bus = 0;
  uint8_t device_function = 0;
  std::string to_string() const;  // "0000:03:00.0"
  uint32_t location_id() const { return uint32_t{bus} << 8 | device_function; }
};

class VirtualGpu {
 public:
  /// `persona`, where the machine has one, outlives the GPU.
  VirtualGpu(const DeviceProfile& profile, uint32_t index, emu::Gpu& engine,
             const PersonaGpu* persona);

  const DeviceProfile& profile() const { return profile_; }
  /// Its recorded answers, or nullptr.
  const PersonaGpu* persona() const { return persona_; }
  uint32_t index() const { return index_; }
  emu::Gpu& engine() const { return *engine_; }
  uint32_t gpu_id() const { return gpu_id_; }
  PciAddress pci() const { return pci_; }
  uint32_t render_minor() const { return kFirstRenderMinor + index_; }
  uint32_t node_id() const { return index_ + 1; }  // node 0 is the CPU
  uint64_t unique_id() const;
  /// Where the emulator puts its GPUs on the bus.
  static PciAddress place(uint32_t index);
  /// The id that this GPU would like; the machine resolves collisions.
  static uint32_t hash_id(const DeviceProfile& profile, const PciAddress& pci);
  void set_gpu_id(uint32_t id) { gpu_id_ = id; }

  /// -ENOMEM if no queue of the pool is free.
  int acquire_sdma(SdmaPool pool, SdmaSlot& slot);
  void release_sdma(SdmaPool pool, uint32_t index);

  uint64_t vram_used() const { return vram_used_; }
  uint64_t vram_used_aligned() const { return vram_used_aligned_; }

 private:
  friend class Machine;
  uint32_t pool_engines(SdmaPool pool) const;
  std::bitset<kMaxSdmaQueues>& pool_queues(SdmaPool pool);

  DeviceProfile profile_;
  const PersonaGpu* persona_;
  uint32_t index_;
  emu::Gpu* engine_;
  PciAddress pci_;
  uint32_t gpu_id_ = 0;
  uint64_t vram_used_ = 0;          // bytes
  uint64_t vram_used_aligned_ = 0;  // as AVAILABLE_MEMORY counts: each allocation in 2 MiB chunks
  std::bitset<kMaxSdmaQueues> sdma_pcie_;
  std::bitset<kMaxSdmaQueues> sdma_xgmi_;
};

/// Where an allocation's pages are charged.
enum class MemoryPool : uint8_t { Vram, Gtt, System, None };

class Machine {
 public:
  explicit Machine(MachineProfile profile);

  const MachineProfile& profile() const { return profile_; }
  emu::Simulator& simulator() { return simulator_; }
  FaultPlan& faults() { return faults_; }
  std::span<VirtualGpu> gpus() { return gpus_; }
  std::span<const VirtualGpu> gpus() const { return gpus_; }
  VirtualGpu* find_gpu(uint32_t gpu_id);

  /// Charges `bytes`, or returns -ENOMEM as the driver's limits (not the host's memory) say.
  int charge(VirtualGpu& gpu, MemoryPool pool, uint64_t bytes);
  void uncharge(VirtualGpu& gpu, MemoryPool pool, uint64_t bytes);
  /// AVAILABLE_MEMORY's answer.
  uint64_t available_vram(const VirtualGpu& gpu) const;
  uint64_t gtt_limit() const { return profile_.host_memory_bytes / 2; }
  uint64_t gtt_used() const { return gtt_used_; }
  uint64_t system_used() const { return system_used_; }

 private:
  uint64_t page_table_reserve() const;

  MachineProfile profile_;
  FaultPlan faults_;                         // with what has gone wrong so far
  std::unique_ptr<emu::Schedule> schedule_;  // nullptr: a random one, or somebody else's
  emu::Simulator simulator_;
  std::vector<VirtualGpu> gpus_;
  uint64_t gtt_used_ = 0;
  uint64_t system_used_ = 0;
};

}  // namespace doppel::mock
