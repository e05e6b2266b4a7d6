#include "emulator/capi/kernel_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/align.h"

namespace doppel::emu {
namespace {

constexpr auto kReadWrite = static_cast<uint8_t>(Access::ReadWrite);
constexpr auto kReadWriteExecute =
    static_cast<uint8_t>(kReadWrite | static_cast<uint8_t>(Access::Execute));
constexpr uint64_t kFirstChosenAddress = uint64_t{1} << 32;
constexpr uint64_t kMaxScratchBytes = uint64_t{1} << 40;
constexpr uint64_t kInstructionsPerStep = uint64_t{1} << 32;

uint64_t waves_per_workgroup(const KernelLaunch& launch) {
  uint64_t items = 1;
  for (uint32_t axis : launch.workgroup) items = std::min<uint64_t>(items * axis, UINT32_MAX);
  return (items + launch.wave_size - 1) / launch.wave_size;
}

// TMPRING_SIZE counts a wave's scratch in units of 1 KiB before gfx11 and of 256 bytes since.
uint64_t scratch_bytes_per_wave(const KernelLaunch& launch) {
  return align_up(uint64_t{launch.scratch_bytes_per_lane} * launch.wave_size, 1024);
}

Fault bad_dispatch(std::string message) {
  Fault fault;
  fault.kind = FaultKind::BadDispatch;
  fault.message = std::move(message);
  return fault;
}

}  // namespace

KernelRunner::KernelRunner(DispatcherOptions options)
    : options_(options), dispatcher_(clock_, options) {}

Result<> KernelRunner::map(uint64_t va, std::byte* host, uint64_t size, uint8_t permissions) {
  if (size > kUserAddressEnd || va > kUserAddressEnd - size) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("A range lies below 2^47 (address 0x{:x}, size 0x{:x}).", va, size));
  }
  return vm_.map({.va = va,
                  .size = size,
                  .host = host,
                  .permissions = permissions,
                  .kind = MemoryKind::UserPtr,
                  .coherent = true,
                  .allocation = vm_.mappings().size()});
}

Result<> KernelRunner::map_host_process() {
  // The guest's addresses are the host's: an integer becomes a pointer, once, here.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* first_page = reinterpret_cast<std::byte*>(kGpuPageBytes);
  DOPPEL_TRY(map(kGpuPageBytes, first_page, kUserAddressEnd - kGpuPageBytes, kReadWriteExecute));
  maps_process_ = true;
  return {};
}

uint64_t KernelRunner::find_gap(uint64_t size) const {
  uint64_t begin = kFirstChosenAddress;
  for (const auto& [va, mapping] : vm_.mappings()) {
    const uint64_t end = va + mapping.size;
    if (end + kGpuPageBytes <= begin) continue;
    if (va >= begin + size + kGpuPageBytes) break;
    begin = align_up(end + kGpuPageBytes, kGpuPageBytes);
  }
  return begin;
}

Result<uint64_t> KernelRunner::map_anywhere(std::byte* host, uint64_t size, uint8_t permissions) {
  if (maps_process_) return reinterpret_cast<uint64_t>(host);
  const uint64_t va = find_gap(size);
  DOPPEL_TRY(map(va, host, size, permissions));
  return va;
}

Result<uint64_t> KernelRunner::reserve_scratch(const KernelLaunch& launch) {
  const uint64_t per_wave = scratch_bytes_per_wave(launch);
  const uint64_t slots = waves_per_workgroup(launch) * std::max(options_.workers, 1u);
  const uint64_t wanted = align_up(per_wave * slots, kGpuPageBytes);
  if (per_wave > UINT32_MAX || wanted > kMaxScratchBytes) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The scratch memory is too large ({} bytes a lane, {} waves).",
                             launch.scratch_bytes_per_lane, slots));
  }
  if (wanted == 0) return uint64_t{0};
  if (wanted <= scratch_bytes_) return scratch_address_;
  if (scratch_bytes_ != 0 && !maps_process_) DOPPEL_TRY(vm_.unmap(scratch_address_));
  scratch_bytes_ = 0;
  // calloc leaves large blocks to be committed by the pages that waves touch.
  scratch_.reset(static_cast<std::byte*>(std::calloc(wanted + kGpuPageBytes, 1)));
  if (!scratch_) {
    return error(StatusCode::OutOfMemory,
                 fmt::format("The host has no memory for scratch ({} bytes).", wanted));
  }
  const uint64_t misalignment = reinterpret_cast<uintptr_t>(scratch_.get()) % kGpuPageBytes;
  std::byte* aligned = scratch_.get() + (kGpuPageBytes - misalignment);
  DOPPEL_ASSIGN(scratch_address_, map_anywhere(aligned, wanted, kReadWrite));
  scratch_bytes_ = wanted;
  return scratch_address_;
}

std::expected<DispatchCounters, Fault> KernelRunner::run(const KernelLaunch& launch) {
  if (launch.wave_size != 32 && launch.wave_size != 64) {
    return std::unexpected(
        bad_dispatch(fmt::format("A wave has 32 or 64 lanes ({}).", launch.wave_size)));
  }
  const auto scratch = reserve_scratch(launch);
  if (!scratch) return std::unexpected(bad_dispatch(scratch.error().message()));
  const auto per_wave = static_cast<uint32_t>(scratch_bytes_per_wave(launch));
  const Dispatch dispatch{
      .target = launch.target,
      .vm = &vm_,
      .program = launch.program,
      .rsrc1 = launch.rsrc1,
      .rsrc2 = launch.rsrc2,
      .rsrc3 = launch.rsrc3,
      .wave32 = launch.wave_size == 32,
      .grid = launch.grid,
      .workgroup = launch.workgroup,
      .user_data = launch.user_data,
      .lds_bytes = launch.lds_bytes,
      .scratch_base = *scratch,
      .scratch_bytes_per_wave = per_wave,
      .scratch_waves = per_wave != 0 ? static_cast<uint32_t>(scratch_bytes_ / per_wave) : 0,
  };
  if (auto started = dispatcher_.start(dispatch); !started) {
    return std::unexpected(std::move(started).error());
  }
  while (dispatcher_.step(kInstructionsPerStep) == DispatchState::Running) {
  }
  if (dispatcher_.state() == DispatchState::Faulted) return std::unexpected(dispatcher_.fault());
  return dispatcher_.counters();
}

}  // namespace doppel::emu
