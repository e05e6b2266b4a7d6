// The two pages of registers that a process may touch itself: doorbells, which tell a queue of new
// packets, and the remapped page that flushes the host data path.
//
// Safe to use from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "backends/kfd/kfd_driver.h"
#include "core/status.h"

namespace doppel::kfd {

/// A process's doorbells on one GPU, mapped when the first queue is made.
class Doorbells {
 public:
  explicit Doorbells(std::shared_ptr<KfdDriver> driver) : driver_(std::move(driver)) {}
  ~Doorbells();
  Doorbells(const Doorbells&) = delete;
  Doorbells& operator=(const Doorbells&) = delete;

  /// The doorbell that CREATE_QUEUE placed at `offset`. All of a GPU lie in one slice.
  Result<volatile uint64_t*> at(uint64_t offset);

 private:
  std::shared_ptr<KfdDriver> driver_;
  std::mutex mutex_;
  std::byte* slice_ = nullptr;
  uint64_t slice_offset_ = 0;
};

/// The host data path's flush register.
class HostFlush {
 public:
  /// Unsupported where the driver doesn't offer the page.
  static Result<std::unique_ptr<HostFlush>> open(std::shared_ptr<KfdDriver> driver,
                                                 uint32_t gpu_id);
  ~HostFlush();
  HostFlush(const HostFlush&) = delete;
  HostFlush& operator=(const HostFlush&) = delete;

  /// On return, earlier stores of this CPU to device memory are visible to the GPU.
  void flush();

 private:
  explicit HostFlush(std::shared_ptr<KfdDriver> driver) : driver_(std::move(driver)) {}

  std::shared_ptr<KfdDriver> driver_;
  uint64_t handle_ = 0;
  void* page_ = nullptr;
};

}  // namespace doppel::kfd
