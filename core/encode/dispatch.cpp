// Kernel launches. PM4: the order of packets is the one that tinygrad's KFD backend has been
// sending to RDNA3 cards since 2024, plus COMPUTE_PGM_RSRC3, which it left at its reset value.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/abi/kernel_descriptor.h"
#include "core/command_encoder.h"
#include "core/packets/registers.h"

namespace doppel {
namespace {

constexpr uint32_t kMaxUserSgprs = 16;

uint32_t private_bytes(const DispatchCommand& command) {
  return std::max(command.kernel->private_bytes, command.private_bytes);
}

/// The user SGPRs of a kernel in the order of its descriptor's bits: LLVM "User Guide for AMDGPU
/// Backend", section "Initial Kernel Execution State".
struct UserData {
  std::array<uint32_t, kMaxUserSgprs> dwords{};
  uint32_t count = 0;
  std::optional<uint32_t> dispatch_packet, kernarg, scratch;  // index of the first dword

  uint32_t push(uint32_t value) {
    dwords[count] = value;
    return count++;
  }
  uint32_t push_address(uint64_t address) {
    const uint32_t at = push(static_cast<uint32_t>(address));
    push(static_cast<uint32_t>(address >> 32));
    return at;
  }
};

void push_scratch_descriptor(UserData& user, const ScratchRing& scratch, uint32_t wave_size,
                             GfxFamily family) {
  user.scratch = user.count;
  for (uint32_t dword : scratch_descriptor(scratch, wave_size, family)) user.push(dword);
}

/// InvalidArgument for a launch that the packets cannot express on this family.
Result<> check_encodable(const DispatchCommand& command, GfxFamily family) {
  const uint64_t max_items = regs::ComputeNumThreadX::num_thread_full_field.in(family).max();
  for (uint32_t items : command.dims.workgroup) {
    if (items <= max_items) continue;
    return error(StatusCode::InvalidArgument,
                 fmt::format("The workgroup is larger than the hardware's field ({} work-items, at "
                             "most {}).",
                             items, max_items));
  }
  const uint64_t max_lds =
      regs::ComputePgmRsrc2::lds_size_field.in(family).max() * abi::kLdsGranule;
  if (command.group_bytes > max_lds) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The kernel wants more LDS than the hardware's field holds ({} bytes, "
                             "at most {}).",
                             command.group_bytes, max_lds));
  }
  if (command.kernel->wave_size == 32 &&
      !regs::ComputeDispatchInitiator::cs_w32_en_field.in(family).present()) {
    return error(StatusCode::InvalidArgument, fmt::format("The GPU has no waves of 32 ({} on {}).",
                                                          command.kernel->name, to_string(family)));
  }
  return {};
}

/// Unsupported if the kernel asks for something that only an AQL queue can give.
Result<UserData> user_data(const DispatchCommand& command, GfxFamily family) {
  const KernelInfo& kernel = *command.kernel;
  UserData user;
  if (kernel.has_property(abi::ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER)) {
    push_scratch_descriptor(user, command.scratch, kernel.wave_size, family);
  }
  if (kernel.has_property(abi::ENABLE_SGPR_DISPATCH_PTR)) {
    if (command.dispatch_packet_address == 0) {
      return error(StatusCode::InvalidArgument,
                   fmt::format("The kernel reads its dispatch packet, and none is given ({}).",
                               kernel.name));
    }
    user.dispatch_packet = user.push_address(command.dispatch_packet_address);
  }
  for (auto [property, what] : {std::pair{abi::ENABLE_SGPR_QUEUE_PTR, "its queue"},
                                std::pair{abi::ENABLE_SGPR_DISPATCH_ID, "its dispatch id"}}) {
    if (!kernel.has_property(property)) continue;
    return error(
        StatusCode::Unsupported,
        fmt::format("The kernel reads {}, which only an AQL queue has ({}).", what, kernel.name));
  }
  if (kernel.has_property(abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR)) {
    user.kernarg = user.push_address(command.kernarg_address);
  }
  if (kernel.has_property(abi::ENABLE_SGPR_FLAT_SCRATCH_INIT)) {
    user.push_address(command.scratch.address);
  }
  if (kernel.has_property(abi::ENABLE_SGPR_PRIVATE_SEGMENT_SIZE)) {
    user.push(private_bytes(command));
  }
  return user;
}

/// Sets consecutive SH registers from `first` on; returns the packet.
uint32_t set_registers(CommandStream& stream, const packets::RegisterRow& first,
                       std::span<const uint32_t> values) {
  return stream.append(pm4::SetShReg(stream.family())
                           .reg_offset(regs::sh_offset(first, stream.family()))
                           .payload(values));
}

void set_program(CommandStream& stream, const DispatchCommand& command) {
  const GfxFamily family = stream.family();
  const uint64_t program = command.entry_address >> 8, scratch = command.scratch.address >> 8;
  const uint32_t values[] = {static_cast<uint32_t>(program),
                             static_cast<uint32_t>(program >> 32),
                             0,  // COMPUTE_DISPATCH_PKT_ADDR
                             0,
                             static_cast<uint32_t>(scratch),
                             static_cast<uint32_t>(scratch >> 32)};
  const uint32_t packet = set_registers(stream, regs::COMPUTE_PGM_LO, values);
  stream.mark_address(packet, 2, 8);
  stream.mark_address(packet, 6, 8);

  regs::ComputePgmRsrc2 rsrc2(family, command.kernel->descriptor.compute_pgm_rsrc2);
  rsrc2.lds_size((command.group_bytes + abi::kLdsGranule - 1) / abi::kLdsGranule);
  const uint32_t rsrc[] = {command.kernel->descriptor.compute_pgm_rsrc1, rsrc2.value()};
  set_registers(stream, regs::COMPUTE_PGM_RSRC1, rsrc);
  set_registers(stream, regs::COMPUTE_PGM_RSRC3, {{command.kernel->descriptor.compute_pgm_rsrc3}});
  set_registers(stream, regs::COMPUTE_TMPRING_SIZE, {{command.scratch.tmpring_size}});
}

/// Lets every compute unit take part.
void enable_all_units(CommandStream& stream) {
  static constexpr uint32_t kAll[] = {~0u, ~0u, ~0u, ~0u};
  const std::span<const uint32_t> all(kAll);
  set_registers(stream, regs::COMPUTE_STATIC_THREAD_MGMT_SE0, all.first(2));
  set_registers(stream, regs::COMPUTE_STATIC_THREAD_MGMT_SE2, all.first(2));
  if (regs::COMPUTE_STATIC_THREAD_MGMT_SE4.in(stream.family()) != 0) {
    set_registers(stream, regs::COMPUTE_STATIC_THREAD_MGMT_SE4, all);
  }
}

void set_user_data(CommandStream& stream, const UserData& user, DispatchPatch& patch) {
  if (user.count == 0) return;
  const uint32_t packet =
      set_registers(stream, regs::COMPUTE_USER_DATA_0, std::span(user.dwords).first(user.count));
  constexpr uint32_t kPayload = 2;
  if (user.scratch) stream.mark_address(packet, kPayload + *user.scratch);
  if (user.dispatch_packet) {
    const uint32_t dword = kPayload + *user.dispatch_packet;
    stream.mark_address(packet, dword);
    patch.dispatch_packet_address = stream.patch_dword<uint64_t>(packet, dword);
  }
  if (user.kernarg) {
    const uint32_t dword = kPayload + *user.kernarg;
    stream.mark_address(packet, dword);
    patch.kernarg_address = stream.patch_dword<uint64_t>(packet, dword);
  }
}

bool is_partial(const LaunchDims& dims) {
  return std::ranges::any_of(dims.partial(), [](uint32_t items) { return items != 0; });
}

/// START_X..Z, NUM_THREAD_X..Z, PIPELINESTAT_ENABLE and PERFCOUNT_ENABLE.
void set_dimensions(CommandStream& stream, const LaunchDims& dims, LaunchPatch& patch) {
  const auto partial = dims.partial();
  std::array<uint32_t, 8> values{};
  constexpr uint32_t kNumThread = 3;
  for (uint32_t axis = 0; axis < 3; ++axis) {
    values[kNumThread + axis] = regs::ComputeNumThreadX(stream.family())
                                    .num_thread_full(dims.workgroup[axis])
                                    .num_thread_partial(partial[axis])
                                    .value();
  }
  const uint32_t packet = set_registers(stream, regs::COMPUTE_START_X, values);
  for (uint32_t axis = 0; axis < 3; ++axis) {
    const uint32_t dword = packet + 2 + kNumThread + axis;
    patch.num_thread_full[axis] =
        stream.patch<uint32_t>(dword, regs::ComputeNumThreadX::num_thread_full_field);
    patch.num_thread_partial[axis] =
        stream.patch<uint32_t>(dword, regs::ComputeNumThreadX::num_thread_partial_field);
  }
}

void launch(CommandStream& stream, const DispatchCommand& command, LaunchPatch& patch) {
  const auto groups = command.dims.workgroups();
  auto initiator = regs::ComputeDispatchInitiator(stream.family())
                       .compute_shader_en(true)
                       .force_start_at_000(true)
                       .partial_tg_en(is_partial(command.dims))
                       .cs_w32_en(command.kernel->wave_size == 32);
  const uint32_t packet = stream.append(pm4::DispatchDirect(stream.family())
                                            .dim_x(groups[0])
                                            .dim_y(groups[1])
                                            .dim_z(groups[2])
                                            .initiator(initiator.value()));
  using Packet = pm4::DispatchDirect;
  patch.workgroups = {stream.patch<uint32_t>(packet, Packet::dim_x_field),
                      stream.patch<uint32_t>(packet, Packet::dim_y_field),
                      stream.patch<uint32_t>(packet, Packet::dim_z_field)};
  const uint32_t initiator_dword = packet + Packet::initiator_field.in(stream.family()).dword;
  patch.partial_tg_en =
      stream.patch<bool>(initiator_dword, regs::ComputeDispatchInitiator::partial_tg_en_field);
}

}  // namespace

// Word 3 is what ROCr and tinygrad program: index stride by wave size, ADD_TID, 32-bit elements,
// raw bounds.
std::array<uint32_t, 4> scratch_descriptor(const ScratchRing& scratch, uint32_t wave_size,
                                           GfxFamily family) {
  constexpr uint32_t kSwizzleEnable = 1u << 31;
  constexpr uint32_t kAddTid = 1u << 23, kFormat32Uint = 0x14u << 12, kOobRaw = 2u << 28;
  constexpr uint32_t kResourceLevelGfx10 = 1u << 24;
  const uint32_t index_stride = (wave_size == 64 ? 3u : 2u) << 21;
  return {static_cast<uint32_t>(scratch.address),
          static_cast<uint32_t>(scratch.address >> 32) | kSwizzleEnable, 0xffffffff,
          index_stride | kAddTid | kFormat32Uint | kOobRaw |
              (family == GfxFamily::Gfx10_3 ? kResourceLevelGfx10 : 0)};
}

void LaunchPatch::set(std::span<uint32_t> dwords, const LaunchDims& dims) const {
  const auto groups = dims.workgroups(), partial = dims.partial();
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (work_items[axis]) work_items[axis].set(dwords, dims.work_items[axis]);
    if (workgroup[axis]) workgroup[axis].set(dwords, dims.workgroup[axis]);
    if (workgroups[axis]) workgroups[axis].set(dwords, groups[axis]);
    if (num_thread_full[axis]) num_thread_full[axis].set(dwords, dims.workgroup[axis]);
    if (num_thread_partial[axis]) num_thread_partial[axis].set(dwords, partial[axis]);
  }
  if (partial_tg_en) partial_tg_en.set(dwords, is_partial(dims));
  if (dimensions) dimensions.set(dwords, dims.dimensions());
}

DispatchPatch Pm4Encoder::exec(const DispatchCommand& command) {
  DispatchPatch patch;
  if (command.entry_address % 256 != 0) {
    stream_.fail(Status(StatusCode::InvalidArgument,
                        fmt::format("The kernel's first instruction is not at a multiple of 256 "
                                    "bytes (0x{:x}).",
                                    command.entry_address)));
    return patch;
  }
  if (const auto encodable = check_encodable(command, stream_.family()); !encodable) {
    stream_.fail(encodable.error());
    return patch;
  }
  const auto user = user_data(command, stream_.family());
  if (!user) {
    stream_.fail(user.error());
    return patch;
  }
  acquire_caches();
  set_program(stream_, command);
  constexpr uint32_t kRestart[4] = {};  // RESTART_X..Z, THREAD_TRACE_ENABLE
  set_registers(stream_, regs::COMPUTE_RESTART_X, kRestart);
  enable_all_units(stream_);
  set_user_data(stream_, *user, patch);
  set_dimensions(stream_, command.dims, patch.dims);
  set_registers(stream_, regs::COMPUTE_RESOURCE_LIMITS, {{0}});
  launch(stream_, command, patch.dims);
  stream_.append(pm4::EventWrite(stream_.family())
                     .event_type(pm4::EventType::CS_PARTIAL_FLUSH)
                     .event_index(pm4::EventIndex::CS_PARTIAL_FLUSH));
  return patch;
}

DispatchPatch AqlEncoder::exec(const DispatchCommand& command) {
  using Packet = aql::KernelDispatch;
  const LaunchDims& dims = command.dims;
  if (const auto encodable = check_encodable(command, stream_.family()); !encodable) {
    stream_.fail(encodable.error());
    return {};
  }
  const uint32_t packet = stream_.append(Packet(stream_.family())
                                             .barrier(true)
                                             .acquire_scope(aql::FenceScope::SYSTEM)
                                             .release_scope(aql::FenceScope::SYSTEM)
                                             .dimensions(dims.dimensions())
                                             .workgroup_size_x(dims.workgroup[0])
                                             .workgroup_size_y(dims.workgroup[1])
                                             .workgroup_size_z(dims.workgroup[2])
                                             .grid_size_x(dims.work_items[0])
                                             .grid_size_y(dims.work_items[1])
                                             .grid_size_z(dims.work_items[2])
                                             .private_segment_size(private_bytes(command))
                                             .group_segment_size(command.group_bytes)
                                             .kernel_object(command.descriptor_address)
                                             .kernarg_address(command.kernarg_address)
                                             .completion_signal(command.completion.address));
  auto field = [&](const packets::FieldColumns& columns) {
    return stream_.patch<uint32_t>(packet, columns);
  };
  DispatchPatch patch;
  patch.dims.workgroup = {field(Packet::workgroup_size_x_field),
                          field(Packet::workgroup_size_y_field),
                          field(Packet::workgroup_size_z_field)};
  patch.dims.work_items = {field(Packet::grid_size_x_field), field(Packet::grid_size_y_field),
                           field(Packet::grid_size_z_field)};
  patch.dims.dimensions = field(Packet::dimensions_field);
  patch.kernarg_address = stream_.patch<uint64_t>(packet, Packet::kernarg_address_field);
  patch.completion_signal = stream_.patch<uint64_t>(packet, Packet::completion_signal_field);
  return patch;
}

}  // namespace doppel
