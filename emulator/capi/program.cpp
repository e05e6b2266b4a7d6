#include "emulator/capi/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/abi/hsa_aql.h"
#include "core/align.h"
#include "core/command_encoder.h"

namespace doppel::emu {
namespace {

constexpr auto kRead = static_cast<uint8_t>(Access::Read);
constexpr auto kReadExecute = static_cast<uint8_t>(kRead | static_cast<uint8_t>(Access::Execute));
constexpr uint64_t kProgramAlignment = 256;  // PGM_LO holds the address >> 8
constexpr uint64_t kZerosBehindCode = 256;   // the instruction prefetch runs ahead of the wave

// Fills user SGPRs from the first on, as the CP does.
class UserSgprs {
 public:
  explicit UserSgprs(std::array<uint32_t, 16>& sgprs) : sgprs_(sgprs) {}

  bool append(uint32_t value) {
    if (next_ == sgprs_.size()) return false;
    sgprs_[next_++] = value;
    return true;
  }
  bool append64(uint64_t value) {
    return append(static_cast<uint32_t>(value)) && append(static_cast<uint32_t>(value >> 32));
  }

 private:
  std::array<uint32_t, 16>& sgprs_;
  size_t next_ = 0;
};

Result<const KernelInfo*> select_kernel(const CodeObject& object, std::string_view name) {
  if (!name.empty()) return object.find_kernel(name);
  if (object.kernels().size() == 1) return &object.kernels().front();
  return error(
      StatusCode::NotFound,
      fmt::format("The code object has {} kernels; one must be named.", object.kernels().size()));
}

}  // namespace

Result<uint64_t> Program::map_code(uint64_t size, KernelRunner& runner,
                                   std::span<std::byte>& memory) {
  code_.assign(size + kZerosBehindCode + kProgramAlignment, std::byte{0});
  const auto misalignment = reinterpret_cast<uintptr_t>(code_.data()) % kProgramAlignment;
  std::byte* aligned = code_.data() + (kProgramAlignment - misalignment) % kProgramAlignment;
  memory = std::span(aligned, size);
  return runner.map_anywhere(aligned, size + kZerosBehindCode, kReadExecute);
}

Result<> Program::load_raw(std::span<const std::byte> code, KernelRunner& runner,
                           KernelLaunch& launch) {
  if (code.size() % 4 != 0) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("Machine code is made of dwords ({} bytes).", code.size()));
  }
  std::span<std::byte> memory;
  DOPPEL_ASSIGN(launch.program, map_code(code.size(), runner, memory));
  std::ranges::copy(code, memory.begin());
  return {};
}

Result<> Program::load_object(std::span<const std::byte> file, std::string_view name,
                              uint64_t kernarg, KernelRunner& runner, KernelLaunch& launch) {
  DOPPEL_ASSIGN(const auto object, CodeObject::parse(file));
  DOPPEL_ASSIGN(const KernelInfo* kernel, select_kernel(object, name));
  if (launch.target != nullptr && launch.target != &object.target()) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The code object is for another target ({} instead of {}).",
                             object.target().name, launch.target->name));
  }
  if (kernarg == 0 && kernel->kernarg_bytes != 0) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The kernel takes arguments ({} bytes).", kernel->kernarg_bytes));
  }
  std::span<std::byte> memory;
  DOPPEL_ASSIGN(const uint64_t base,
                map_code(align_up(object.image_bytes(), kGpuPageBytes), runner, memory));
  DOPPEL_TRY(object.write_image(base, memory.first(object.image_bytes())));
  launch.target = &object.target();
  launch.program = base + kernel->entry_offset;
  launch.rsrc1 = kernel->descriptor.compute_pgm_rsrc1;
  launch.rsrc2 = kernel->descriptor.compute_pgm_rsrc2;
  launch.rsrc3 = kernel->descriptor.compute_pgm_rsrc3;
  launch.wave_size = kernel->wave_size;
  launch.lds_bytes += kernel->group_bytes;
  launch.scratch_bytes_per_lane = std::max(launch.scratch_bytes_per_lane, kernel->private_bytes);
  return set_user_sgprs(*kernel, kernarg, runner, launch);
}

Result<uint64_t> Program::map_dispatch_packet(const KernelInfo& kernel, uint64_t kernarg,
                                              const KernelLaunch& launch, KernelRunner& runner) {
  const auto work_items = [&](size_t axis) { return launch.grid[axis] * launch.workgroup[axis]; };
  abi::KernelDispatchPacket packet{};
  packet.header = abi::HSA_PACKET_TYPE_KERNEL_DISPATCH;
  packet.setup = work_items(2) > 1 ? 3 : work_items(1) > 1 ? 2 : 1;
  packet.workgroup_size_x = static_cast<uint16_t>(launch.workgroup[0]);
  packet.workgroup_size_y = static_cast<uint16_t>(launch.workgroup[1]);
  packet.workgroup_size_z = static_cast<uint16_t>(launch.workgroup[2]);
  packet.grid_size_x = work_items(0);
  packet.grid_size_y = work_items(1);
  packet.grid_size_z = work_items(2);
  packet.private_segment_size = launch.scratch_bytes_per_lane;
  packet.group_segment_size = launch.lds_bytes;
  packet.kernel_object = launch.program - kernel.entry_offset + kernel.descriptor_offset;
  packet.kernarg_address = kernarg;
  packet_.resize(sizeof(packet));
  std::memcpy(packet_.data(), &packet, sizeof(packet));
  return runner.map_anywhere(packet_.data(), packet_.size(), kRead);
}

Result<> Program::set_user_sgprs(const KernelInfo& kernel, uint64_t kernarg, KernelRunner& runner,
                                 KernelLaunch& launch) {
  using enum abi::KernelCodeProperty;
  if (kernel.has_property(ENABLE_SGPR_QUEUE_PTR)) {
    return error(
        StatusCode::Unsupported,
        fmt::format("The kernel wants a queue pointer, and there is no queue ({}).", kernel.name));
  }
  DOPPEL_ASSIGN(const uint64_t scratch, runner.reserve_scratch(launch));
  UserSgprs sgprs(launch.user_data);
  bool fits = true;
  if (kernel.has_property(ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER)) {
    const ScratchRing ring{.address = scratch};
    for (uint32_t word : scratch_descriptor(ring, launch.wave_size, launch.target->family)) {
      fits = fits && sgprs.append(word);
    }
  }
  if (kernel.has_property(ENABLE_SGPR_DISPATCH_PTR)) {
    DOPPEL_ASSIGN(const uint64_t packet, map_dispatch_packet(kernel, kernarg, launch, runner));
    fits = fits && sgprs.append64(packet);
  }
  if (kernel.has_property(ENABLE_SGPR_KERNARG_SEGMENT_PTR)) fits = fits && sgprs.append64(kernarg);
  if (kernel.has_property(ENABLE_SGPR_DISPATCH_ID)) fits = fits && sgprs.append64(0);
  if (kernel.has_property(ENABLE_SGPR_FLAT_SCRATCH_INIT)) fits = fits && sgprs.append64(scratch);
  if (kernel.has_property(ENABLE_SGPR_PRIVATE_SEGMENT_SIZE)) {
    fits = fits && sgprs.append(launch.scratch_bytes_per_lane);
  }
  if (!fits) {
    return error(StatusCode::Malformed,
                 fmt::format("The kernel asks for more than 16 user SGPRs ({}).", kernel.name));
  }
  return {};
}

}  // namespace doppel::emu
