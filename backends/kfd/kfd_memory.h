// KfdMemory: one GPU's share of the process's address space: it reserves addresses, asks the driver
// for memory, maps it for the CPU and for GPUs, and undoes all of that in the reverse order.
// KfdAllocation is the handle's other side.
//
// Safe to use from several threads. Lives until its last allocation is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/kfd/kfd_driver.h"
#include "core/memory.h"
#include "core/status.h"

namespace doppel::kfd {

inline constexpr uint64_t kPageBytes = 4096;

class KfdMemory;

/// Live allocations of one device's users: what close() reports as leaks.
struct MemoryLedger {
  std::atomic<uint64_t> count = 0;
  std::atomic<uint64_t> bytes = 0;
};

/// Who an allocation is made for. The runtime's own memory has no owner and is in no ledger.
struct AllocationOwner {
  Device* device = nullptr;
  std::shared_ptr<MemoryLedger> ledger = {};
};

class KfdAllocation final : public AllocationState {
 public:
  KfdAllocation(std::shared_ptr<KfdMemory> memory, std::shared_ptr<MemoryLedger> ledger)
      : memory_(std::move(memory)), ledger_(std::move(ledger)) {}
  ~KfdAllocation() override;

  Result<> release() override;

  uint64_t handle() const { return handle_; }
  /// Whether it was made through this driver.
  bool is_of(const KfdDriver& driver) const;

 private:
  friend class KfdMemory;

  std::shared_ptr<KfdMemory> memory_;
  std::shared_ptr<MemoryLedger> ledger_;
  uint64_t handle_ = 0;       // the driver's; 0 = none
  void* reserved_ = nullptr;  // CPU address range, unmapped at the end; not the caller's memory
  uint64_t reserved_bytes_ = 0;
  uint64_t mapped_bytes_ = 0;
  mutable std::vector<uint32_t> mapped_gpus_;  // the driver's state; KfdMemory keeps it
};

class KfdMemory : public std::enable_shared_from_this<KfdMemory> {
 public:
  /// Takes the VM of the render node over for compute.
  static Result<std::shared_ptr<KfdMemory>> open(std::shared_ptr<KfdDriver> driver,
                                                 Descriptor render, uint32_t gpu_id);

  uint32_t gpu_id() const { return gpu_id_; }
  int render_fd() const { return render_.get(); }

  /// Memory that this GPU can use. InvalidArgument for 0 bytes or contradictory options.
  Result<Allocation> allocate(uint64_t bytes, const AllocationOptions& options,
                              AllocationOwner owner = {});

  /// Gives and takes this GPU's access to an allocation of any GPU of the process. Mapping twice is
  /// harmless; unmapping what is not mapped is an InvalidArgument.
  Result<> map(const KfdAllocation& allocation);
  Result<> unmap(const KfdAllocation& allocation);
  bool is_mapped(const KfdAllocation& allocation) const;

 private:
  friend class KfdAllocation;

  KfdMemory(std::shared_ptr<KfdDriver> driver, Descriptor render, uint32_t gpu_id)
      : driver_(std::move(driver)), render_(std::move(render)), gpu_id_(gpu_id) {}

  Result<> reserve(KfdAllocation& allocation) const;
  Result<> obtain(KfdAllocation& allocation) const;
  Result<> map_for_cpu(KfdAllocation& allocation, uint64_t mmap_offset) const;
  Result<> map_gpus(const KfdAllocation& allocation, std::span<const uint32_t> gpus) const;
  Result<> unmap_gpus(const KfdAllocation& allocation, std::span<const uint32_t> gpus) const;
  Result<> free(KfdAllocation& allocation);

  std::shared_ptr<KfdDriver> driver_;
  Descriptor render_;
  uint32_t gpu_id_;
};

}  // namespace doppel::kfd
