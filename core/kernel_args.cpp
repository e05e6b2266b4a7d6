#include "core/kernel_args.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "core/align.h"
#include "core/errors.h"

namespace doppel {
namespace {

/// Pages below the lowest address that a process can map (vm.mmap_min_addr, 0x10000), one for each
/// service that is not there.
struct Guard {
  KernelArgKind kind;
  uint64_t address;
};
constexpr uint64_t kGuardBytes = 0x1000;
constexpr std::array kGuards = {
    Guard{KernelArgKind::HiddenPrintfBuffer, 0x1000},
    Guard{KernelArgKind::HiddenHostcallBuffer, 0x2000},
    Guard{KernelArgKind::HiddenHeapV1, 0x3000},
    Guard{KernelArgKind::HiddenDefaultQueue, 0x4000},
    Guard{KernelArgKind::HiddenCompletionAction, 0x5000},
    Guard{KernelArgKind::HiddenMultigridSyncArg, 0x6000},
    Guard{KernelArgKind::HiddenQueuePtr, 0x7000},
};

uint64_t guard_address(KernelArgKind kind) {
  auto guard = std::ranges::find(kGuards, kind, &Guard::kind);
  return guard == kGuards.end() ? 0 : guard->address;
}

uint64_t axis_of(KernelArgKind kind, KernelArgKind x) {
  return static_cast<uint64_t>(kind) - static_cast<uint64_t>(x);
}

uint64_t hidden_value(KernelArgKind kind, const LaunchDims& dims, const HiddenArgs& hidden) {
  using enum KernelArgKind;
  switch (kind) {
    case HiddenBlockCountX:
    case HiddenBlockCountY:
    case HiddenBlockCountZ: {  // full workgroups only
      const uint64_t axis = axis_of(kind, HiddenBlockCountX);
      return dims.work_items[axis] / dims.workgroup[axis];
    }
    case HiddenGroupSizeX:
    case HiddenGroupSizeY:
    case HiddenGroupSizeZ:
      return dims.workgroup[axis_of(kind, HiddenGroupSizeX)];
    case HiddenRemainderX:
    case HiddenRemainderY:
    case HiddenRemainderZ:
      return dims.partial()[axis_of(kind, HiddenRemainderX)];
    case HiddenGridDims:
      return dims.dimensions();
    case HiddenDynamicLdsSize:
      return hidden.dynamic_group_bytes;
    case HiddenPrivateBase:
      return hidden.private_base;
    case HiddenSharedBase:
      return hidden.shared_base;
    case HiddenQueuePtr:
      return hidden.queue_ptr != 0 ? hidden.queue_ptr : guard_address(kind);
    default:  // offsets are 0, hidden_none is padding, the rest are services that are not there
      return guard_address(kind);
  }
}

std::string describe(const KernelInfo& kernel, const KernelArg& arg, size_t index) {
  return arg.name.empty() ? fmt::format("Argument {} of {}", index, kernel.name)
                          : fmt::format("Argument {} of {} ({})", index, kernel.name, arg.name);
}

Result<> check_kind(const KernelInfo& kernel, const KernelArg& wanted, const KernelArgs::Arg& given,
                    size_t index) {
  using enum KernelArgKind;
  const bool is_local = given.kind == KernelArgs::Kind::Local;
  if (given.kind == KernelArgs::Kind::EmptyBuffer) {
    return invalid(fmt::format("{} is an empty allocation: freed, moved from or never made.",
                               describe(kernel, wanted, index)));
  }
  if (given.kind == KernelArgs::Kind::Deferred) {
    return invalid(
        fmt::format("{} is a variable that has no value yet.", describe(kernel, wanted, index)));
  }
  switch (wanted.kind) {
    case ByValue:
      if (given.kind == KernelArgs::Kind::Value) break;
      // A buffer's address may stand for a 64-bit integer or a pointer inside of a structure.
      if (given.kind == KernelArgs::Kind::Buffer && wanted.size == sizeof(uint64_t)) break;
      return invalid(fmt::format("{} is a value of {} bytes; a {} is given.",
                                 describe(kernel, wanted, index), wanted.size,
                                 is_local ? "LocalMemory" : "buffer"));
    case GlobalBuffer:
      if (given.kind == KernelArgs::Kind::Buffer) break;
      return invalid(fmt::format("{} is a buffer; a {} is given.", describe(kernel, wanted, index),
                                 is_local ? "LocalMemory" : "value"));
    case DynamicSharedPointer:
      if (is_local) return {};
      return invalid(fmt::format("{} is LDS sized at launch; pass LocalMemory{{bytes}}.",
                                 describe(kernel, wanted, index)));
    default:
      return error(StatusCode::Unsupported,
                   fmt::format("{} is of a kind ({}) that has no meaning here.",
                               describe(kernel, wanted, index), to_string(wanted.kind)));
  }
  if (given.size != wanted.size) {
    return invalid(fmt::format(
        "{} takes {} bytes ({}); {} are given.", describe(kernel, wanted, index), wanted.size,
        wanted.type_name.empty() ? "of unnamed type" : wanted.type_name, given.size));
  }
  return {};
}

/// Takes the LocalMemory `arg` its place behind `end`; returns where it begins.
uint64_t place_local(uint64_t& end, const KernelArg& wanted, const KernelArgs& args,
                     const KernelArgs::Arg& arg) {
  uint32_t bytes = 0;
  std::memcpy(&bytes, args.bytes_of(arg).data(), sizeof bytes);
  const uint64_t alignment = std::max(wanted.pointee_align, 16u);
  const uint64_t begin = (end + alignment - 1) / alignment * alignment;
  end = begin + bytes;
  return begin;
}

/// Without metadata the layout is that of a C structure of the values, which must fill the segment.
Result<> pack_unchecked(const KernelInfo& kernel, const KernelArgs& args,
                        std::span<std::byte> out) {
  uint32_t end = 0;
  for (const KernelArgs::Arg& arg : args.args()) {
    const uint32_t offset = align_up(end, arg.align);
    end = offset + arg.size;
    if (arg.kind == KernelArgs::Kind::Local) {
      return error(StatusCode::Unsupported,
                   fmt::format("The kernel ({}) has no metadata that would place LocalMemory.",
                               kernel.name));
    }
    if (arg.kind == KernelArgs::Kind::Deferred) {
      return invalid(
          fmt::format("An argument of {} is a variable that has no value yet.", kernel.name));
    }
    if (end > out.size()) break;
    std::ranges::copy(args.bytes_of(arg), out.begin() + offset);
  }
  if (align_up(end, 8) != align_up(kernel.kernarg_bytes, 8)) {
    return invalid(fmt::format("The arguments of {} take {} bytes; its kernarg segment has {}.",
                               kernel.name, end, kernel.kernarg_bytes));
  }
  return {};
}

}  // namespace

KernelArgs::Arg& KernelArgs::add_bytes(Kind kind, std::span<const std::byte> bytes,
                                       uint32_t align) {
  Arg& arg = args_.emplace_back();
  arg.kind = kind;
  arg.offset = static_cast<uint32_t>(storage_.size());
  arg.size = static_cast<uint32_t>(bytes.size());
  arg.align = align;
  storage_.insert(storage_.end(), bytes.begin(), bytes.end());
  return arg;
}

void KernelArgs::add(const MemoryView& view) {
  const Kind kind = view.gpu_address == 0 ? Kind::EmptyBuffer : Kind::Buffer;
  add_bytes(kind, std::as_bytes(std::span(&view.gpu_address, 1)), alignof(uint64_t)).view = view;
}

void KernelArgs::add(const AccessedBuffer& buffer) {
  add(buffer.view);
  args_.back().access = buffer.access;
}

void KernelArgs::add(DevicePointer pointer) {
  add_bytes(Kind::Buffer, std::as_bytes(std::span(&pointer.address, 1)), alignof(uint64_t))
      .view.gpu_address = pointer.address;
}

void KernelArgs::add(LocalMemory local) {
  add_bytes(Kind::Local, std::as_bytes(std::span(&local.bytes, 1)), alignof(uint32_t));
}

void KernelArgs::add(DeferredValue value) {
  const std::vector<std::byte> unset(value.size);
  add_bytes(Kind::Deferred, unset, value.align).deferred_id = value.id;
}

Result<> KernelArgs::check_index(size_t index) const {
  if (index < args_.size()) return {};
  return error(StatusCode::OutOfRange,
               fmt::format("There is no argument {}; {} are given.", index, args_.size()));
}

Result<> KernelArgs::set_buffer(size_t index, const MemoryView& view) {
  DOPPEL_TRY(check_index(index));
  Arg& arg = args_[index];
  if (arg.kind != Kind::Buffer || view.gpu_address == 0) {
    return invalid(fmt::format("Argument {} or its new value is not a buffer.", index));
  }
  std::memcpy(storage_.data() + arg.offset, &view.gpu_address, sizeof view.gpu_address);
  arg.view = view;
  return {};
}

Result<> KernelArgs::set_value(size_t index, std::span<const std::byte> bytes) {
  DOPPEL_TRY(check_index(index));
  Arg& arg = args_[index];
  if (arg.kind != Kind::Value && arg.kind != Kind::Deferred) {
    return invalid(fmt::format("Argument {} is not a value.", index));
  }
  if (arg.size != bytes.size()) {
    return invalid(fmt::format("Argument {} takes {} bytes; its new value has {}.", index, arg.size,
                               bytes.size()));
  }
  std::ranges::copy(bytes, storage_.begin() + arg.offset);
  arg.kind = Kind::Value;
  return {};
}

uint32_t group_segment_bytes(const KernelInfo& kernel, const KernelArgs& args) {
  uint64_t end = kernel.group_bytes;
  size_t index = 0;
  for (const KernelArg* wanted : kernel.explicit_args()) {
    if (index >= args.args().size()) break;
    const KernelArgs::Arg& arg = args.args()[index++];
    if (arg.kind == KernelArgs::Kind::Local) place_local(end, *wanted, args, arg);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(end, UINT32_MAX));
}

Result<> pack_kernel_args(const KernelInfo& kernel, const KernelArgs& args, const LaunchDims& dims,
                          const HiddenArgs& hidden, std::span<std::byte> out) {
  if (out.size() != kernel.kernarg_bytes) {
    return invalid(
        fmt::format("The kernarg buffer ({} bytes) does not have the segment's size "
                    "({} bytes).",
                    out.size(), kernel.kernarg_bytes));
  }
  std::ranges::fill(out, std::byte{0});
  if (!kernel.has_metadata) return pack_unchecked(kernel, args, out);

  const auto given = args.args();
  const size_t wanted_count = kernel.explicit_args().size();
  if (given.size() != wanted_count) {
    return invalid(fmt::format("The kernel ({}) takes {} arguments; {} are given.", kernel.name,
                               wanted_count, given.size()));
  }
  uint64_t lds_end = kernel.group_bytes;
  size_t index = 0;
  for (const KernelArg& wanted : kernel.args) {
    std::byte* place = out.data() + wanted.offset;
    if (is_hidden(wanted.kind)) {
      const uint64_t value = hidden_value(wanted.kind, dims, hidden);
      std::memcpy(place, &value, std::min<size_t>(wanted.size, sizeof value));
      continue;
    }
    const KernelArgs::Arg& arg = given[index];
    DOPPEL_TRY(check_kind(kernel, wanted, arg, index));
    if (wanted.kind == KernelArgKind::DynamicSharedPointer) {
      const auto lds_offset = static_cast<uint32_t>(place_local(lds_end, wanted, args, arg));
      std::memcpy(place, &lds_offset, std::min<size_t>(wanted.size, sizeof lds_offset));
    } else {
      std::ranges::copy(args.bytes_of(arg), place);
    }
    ++index;
  }
  return {};
}

std::string_view describe_hidden_guard(uint64_t address) {
  for (const Guard& guard : kGuards) {
    if (address - guard.address < kGuardBytes) return to_string(guard.kind);
  }
  return {};
}

}  // namespace doppel
