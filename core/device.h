// Device: one GPU (a KFD node, an HSA agent), behind whichever driver plays it. It makes memory,
// programs, signals and queues; compute() and sdma() record on its default queues.
//
// Safe to use from several threads. Handles that it made keep what they need alive, but commands
// can't be submitted after it is gone. Destroying it drains its queues; close() does the same and
// reports failures and leaks.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/commands.h"
#include "core/files.h"
#include "core/kernel_args.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/program.h"
#include "core/queue.h"
#include "core/signal.h"
#include "core/status.h"
#include "core/target.h"
#include "core/verify/finding.h"
#include "core/verify/host_observer.h"

namespace doppel {

/// What a device is, as the driver's topology describes it.
struct DeviceInfo {
  std::string name;  // "kfd:0"
  std::string marketing_name;
  const Target* target = nullptr;
  uint32_t node = 0;        // of the topology
  uint32_t gpu_id = 0;      // the driver's identifier
  std::string pci_address;  // "0000:03:00.0"
  uint32_t pci_device_id = 0;
  uint32_t compute_units = 0;
  uint32_t simds_per_compute_unit = 0;
  uint32_t max_waves_per_simd = 0;
  uint32_t shader_engines = 0;
  uint32_t shader_arrays = 0;  // of the whole device
  uint32_t scratch_waves_per_compute_unit = 0;
  uint32_t sdma_engines = 0;
  uint32_t lds_bytes = 0;  // of a compute unit
  uint64_t vram_bytes = 0;
  uint64_t visible_vram_bytes = 0;  // that the CPU can map
  uint32_t max_engine_clock_mhz = 0;
  uint32_t firmware_version = 0;  // of the compute micro engine
  uint32_t sdma_firmware_version = 0;
  std::string driver;  // "kfd 1.14, amdgpu 3.57.0"
};

/// How GPU counter ticks map to host nanoseconds: a line through two pairs of readings.
struct ClockFit {
  uint64_t gpu_origin = 0;      // ticks
  uint64_t host_origin_ns = 0;  // of the driver's system clock
  double ns_per_tick = 10.0;

  double to_host_ns(uint64_t ticks) const {
    return static_cast<double>(host_origin_ns) +
           static_cast<double>(static_cast<int64_t>(ticks - gpu_origin)) * ns_per_tick;
  }
  double duration_ns(uint64_t from_ticks, uint64_t to_ticks) const {
    return static_cast<double>(static_cast<int64_t>(to_ticks - from_ticks)) * ns_per_tick;
  }
};

/// How a device is opened. The defaults suit every user; tests shrink them.
struct DeviceOptions {
  uint64_t timeline_limit = uint64_t{1} << 31;  // submissions of a queue before its count restarts
  uint32_t argument_bytes = 1 << 20;            // of a queue's argument memory, grown on demand
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const DeviceInfo& info() const = 0;
  const Target& target() const { return *info().target; }

  /// At least `bytes` (> 0) of memory, mapped for this device.
  virtual Result<Allocation> allocate(uint64_t bytes, const AllocationOptions& options = {}) = 0;

  /// Makes another device's allocation accessible to this one at the same address.
  virtual Result<> map(const MemoryView& memory) = 0;
  virtual Result<> unmap(const MemoryView& memory) = 0;
  /// Whether this device can reach the memory, whoever allocated it.
  virtual bool is_mapped(const MemoryView& memory) const = 0;

  virtual Result<Signal> create_signal(const SignalOptions& options = {}) = 0;

  /// Queues of the caller's own, besides the default ones.
  virtual Result<std::unique_ptr<Queue>> create_queue(const QueueOptions& options) = 0;

  /// The default queue of the kind, made at first use. Lives as long as the device; once that is
  /// closed, it refuses what it is given (Unavailable).
  virtual Result<Queue*> default_queue(QueueKind kind) = 0;

  /// Waits until all that was submitted to any queue of this device has finished.
  virtual Result<> synchronize(const WaitOptions& options = {}) = 0;

  /// Relates the GPU's counter to the host's clock; the longer the device has been open, the more
  /// exact the rate.
  virtual Result<ClockFit> clock_fit() = 0;

  /// Synchronizes, destroys the queues and reports what is still allocated (as an error of code
  /// Exhausted that counts the leaks). The device accepts nothing afterwards.
  virtual Result<> close() = 0;

  /// Makes the CPU's stores to device memory visible to what is submitted afterwards (they may
  /// linger in the host data path, HDP).
  virtual Result<> flush_host_writes() = 0;

  /// What the checks that the device was opened with have found so far, on all devices of its
  /// machine. Unavailable if it was opened without any.
  virtual Result<verify::FindingLog> findings();
  /// Expires when the device is destroyed: for those who keep a pointer to it.
  std::weak_ptr<const void> lifetime() const { return lifetime_; }
  /// Who wants to know what the host does, or nullptr.
  virtual verify::HostObserver* host_observer() { return nullptr; }

  // The rest is built on the above.

  /// What findings call the memory's allocation, instead of "vram 3".
  void set_name(const MemoryView& memory, std::string name);

  /// Loads an AMDGPU code object. InvalidArgument if it is for another target.
  Result<Program> load_program(std::span<const std::byte> file);
  Result<Program> load_program(const std::filesystem::path& path);
  /// `load_program(read_file("saxpy.co"))`: a file that can't be read is this call's error.
  template <std::same_as<Result<std::vector<std::byte>>> File>
  Result<Program> load_program(const File& file) {
    if (!file) return std::unexpected(file.error());
    return load_program(std::span<const std::byte>(*file));
  }

  /// A new recording on the default compute (PM4), AQL or SDMA queue.
  ComputeCommands compute();
  ComputeCommands aql();
  SdmaCommands sdma();

  /// Copies between host memory and an allocation, and waits: by the CPU where it sees the memory,
  /// else by SDMA through a staging buffer.
  Result<> write(const MemoryView& destination, std::span<const std::byte> data);
  Result<> read(const MemoryView& source, std::span<std::byte> out);
  template <class T>
  Result<> write(const MemoryView& destination, const std::vector<T>& values) {
    return write(destination, std::as_bytes(std::span(values)));
  }
  template <class T>
  Result<std::vector<T>> read(const MemoryView& source) {
    std::vector<T> values(source.size / sizeof(T));
    DOPPEL_TRY(read(source, std::as_writable_bytes(std::span(values))));
    return values;
  }

 protected:
  Device() = default;

 private:
  void note(const MemoryView& memory, uint64_t bytes, MemoryAccess access, std::string_view call);

  std::shared_ptr<const void> lifetime_ = std::make_shared<char>();
};

}  // namespace doppel
