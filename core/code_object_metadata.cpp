#include "core/code_object_metadata.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <msgpack.hpp>

#include "core/errors.h"

namespace doppel {
namespace {

struct KindRow {
  KernelArgKind kind;
  std::string_view name;
};

constexpr std::array kKinds = {
    KindRow{KernelArgKind::ByValue, "by_value"},
    KindRow{KernelArgKind::GlobalBuffer, "global_buffer"},
    KindRow{KernelArgKind::DynamicSharedPointer, "dynamic_shared_pointer"},
    KindRow{KernelArgKind::Image, "image"},
    KindRow{KernelArgKind::Sampler, "sampler"},
    KindRow{KernelArgKind::Pipe, "pipe"},
    KindRow{KernelArgKind::Queue, "queue"},
    KindRow{KernelArgKind::HiddenNone, "hidden_none"},
    KindRow{KernelArgKind::HiddenBlockCountX, "hidden_block_count_x"},
    KindRow{KernelArgKind::HiddenBlockCountY, "hidden_block_count_y"},
    KindRow{KernelArgKind::HiddenBlockCountZ, "hidden_block_count_z"},
    KindRow{KernelArgKind::HiddenGroupSizeX, "hidden_group_size_x"},
    KindRow{KernelArgKind::HiddenGroupSizeY, "hidden_group_size_y"},
    KindRow{KernelArgKind::HiddenGroupSizeZ, "hidden_group_size_z"},
    KindRow{KernelArgKind::HiddenRemainderX, "hidden_remainder_x"},
    KindRow{KernelArgKind::HiddenRemainderY, "hidden_remainder_y"},
    KindRow{KernelArgKind::HiddenRemainderZ, "hidden_remainder_z"},
    KindRow{KernelArgKind::HiddenGlobalOffsetX, "hidden_global_offset_x"},
    KindRow{KernelArgKind::HiddenGlobalOffsetY, "hidden_global_offset_y"},
    KindRow{KernelArgKind::HiddenGlobalOffsetZ, "hidden_global_offset_z"},
    KindRow{KernelArgKind::HiddenGridDims, "hidden_grid_dims"},
    KindRow{KernelArgKind::HiddenDynamicLdsSize, "hidden_dynamic_lds_size"},
    KindRow{KernelArgKind::HiddenPrivateBase, "hidden_private_base"},
    KindRow{KernelArgKind::HiddenSharedBase, "hidden_shared_base"},
    KindRow{KernelArgKind::HiddenQueuePtr, "hidden_queue_ptr"},
    KindRow{KernelArgKind::HiddenPrintfBuffer, "hidden_printf_buffer"},
    KindRow{KernelArgKind::HiddenHostcallBuffer, "hidden_hostcall_buffer"},
    KindRow{KernelArgKind::HiddenHeapV1, "hidden_heap_v1"},
    KindRow{KernelArgKind::HiddenDefaultQueue, "hidden_default_queue"},
    KindRow{KernelArgKind::HiddenCompletionAction, "hidden_completion_action"},
    KindRow{KernelArgKind::HiddenMultigridSyncArg, "hidden_multigrid_sync_arg"},
};

// What a hostile note may make the parser allocate: far beyond any compiler's output.
const msgpack::unpack_limit kLimits(/*array=*/65536, /*map=*/65536, /*str=*/1 << 20,
                                    /*bin=*/1 << 20, /*ext=*/0, /*depth=*/16);

std::unexpected<Status> bad_metadata(std::string message) {
  return malformed("The code object's metadata " + std::move(message));
}

/// Read-only view of a MessagePack map: absent keys are nullptr, wrong types are Malformed.
class Map {
 public:
  static Result<Map> from(const msgpack::object& object, std::string_view what) {
    if (object.type != msgpack::type::MAP) {
      return bad_metadata(fmt::format("has no map where one is expected ({}).", what));
    }
    return Map(object.via.map);
  }

  const msgpack::object* find(std::string_view key) const {
    for (uint32_t index = 0; index < map_.size; ++index) {
      const msgpack::object& name = map_.ptr[index].key;
      if (name.type == msgpack::type::STR &&
          std::string_view(name.via.str.ptr, name.via.str.size) == key) {
        return &map_.ptr[index].val;
      }
    }
    return nullptr;
  }

  Result<std::string> text(std::string_view key) const {
    const msgpack::object* value = find(key);
    if (value == nullptr) return std::string();
    if (value->type != msgpack::type::STR) {
      return bad_metadata(fmt::format("holds no string under the key ({}).", key));
    }
    return std::string(value->via.str.ptr, value->via.str.size);
  }

  /// Stores the number under `key` to `out`; leaves it as it is if there is none and `required` is
  /// false.
  Result<> number(std::string_view key, uint32_t& out, bool required) const {
    const msgpack::object* value = find(key);
    if (value == nullptr && !required) return {};
    if (value == nullptr) return bad_metadata(fmt::format("lacks the key ({}).", key));
    if (value->type != msgpack::type::POSITIVE_INTEGER ||
        value->via.u64 > std::numeric_limits<uint32_t>::max()) {
      return bad_metadata(fmt::format("holds no 32-bit number under the key ({}).", key));
    }
    out = static_cast<uint32_t>(value->via.u64);
    return {};
  }

  Result<bool> flag(std::string_view key) const {
    const msgpack::object* value = find(key);
    if (value == nullptr) return false;
    if (value->type != msgpack::type::BOOLEAN) {
      return bad_metadata(fmt::format("holds no boolean under the key ({}).", key));
    }
    return value->via.boolean;
  }

  Result<std::span<const msgpack::object>> list(std::string_view key) const {
    const msgpack::object* value = find(key);
    if (value == nullptr) return std::span<const msgpack::object>();
    if (value->type != msgpack::type::ARRAY) {
      return bad_metadata(fmt::format("holds no list under the key ({}).", key));
    }
    return std::span<const msgpack::object>(value->via.array.ptr, value->via.array.size);
  }

 private:
  explicit Map(const msgpack::object_map& map) : map_(map) {}
  msgpack::object_map map_;
};

Result<MemoryAccess> parse_access(const Map& map) {
  DOPPEL_ASSIGN(const std::string actual, map.text(".actual_access"));
  if (actual == "read_only") return MemoryAccess::Read;
  if (actual == "write_only") return MemoryAccess::Write;
  DOPPEL_ASSIGN(const bool is_const, map.flag(".is_const"));
  return is_const ? MemoryAccess::Read : MemoryAccess::ReadWrite;
}

Result<KernelArg> parse_arg(const msgpack::object& object, uint32_t kernarg_bytes) {
  DOPPEL_ASSIGN(Map map, Map::from(object, ".args"));
  KernelArg arg;
  DOPPEL_ASSIGN(arg.name, map.text(".name"));
  DOPPEL_ASSIGN(arg.type_name, map.text(".type_name"));
  DOPPEL_TRY(map.number(".offset", arg.offset, true));
  DOPPEL_TRY(map.number(".size", arg.size, true));
  DOPPEL_TRY(map.number(".pointee_align", arg.pointee_align, false));
  DOPPEL_ASSIGN(arg.access, parse_access(map));
  DOPPEL_ASSIGN(std::string kind, map.text(".value_kind"));
  auto row = std::ranges::find(kKinds, kind, &KindRow::name);
  if (row == kKinds.end()) {
    return error(StatusCode::Unsupported,
                 fmt::format("The kernel argument's value kind ({}) is unknown.", kind));
  }
  arg.kind = row->kind;
  if (uint64_t{arg.offset} + arg.size > kernarg_bytes) {
    return bad_metadata(
        fmt::format("places an argument ({} at {}, {} bytes) outside of the kernarg "
                    "segment of {} bytes.",
                    arg.name.empty() ? kind : arg.name, arg.offset, arg.size, kernarg_bytes));
  }
  return arg;
}

Result<> parse_required_workgroup_size(const Map& map, KernelInfo& kernel) {
  DOPPEL_ASSIGN(auto sizes, map.list(".reqd_workgroup_size"));
  if (sizes.empty()) return {};
  std::array<uint32_t, 3> required{};
  if (sizes.size() != required.size()) {
    return bad_metadata(fmt::format("gives {} dimensions for .reqd_workgroup_size.", sizes.size()));
  }
  for (size_t axis = 0; axis < required.size(); ++axis) {
    if (sizes[axis].type != msgpack::type::POSITIVE_INTEGER || sizes[axis].via.u64 == 0 ||
        sizes[axis].via.u64 > std::numeric_limits<uint32_t>::max()) {
      return bad_metadata("gives a bad .reqd_workgroup_size.");
    }
    required[axis] = static_cast<uint32_t>(sizes[axis].via.u64);
  }
  kernel.required_workgroup_size = required;
  return {};
}

Result<KernelInfo> parse_kernel(const msgpack::object& object) {
  DOPPEL_ASSIGN(Map map, Map::from(object, "amdhsa.kernels"));
  KernelInfo kernel;
  kernel.has_metadata = true;
  DOPPEL_ASSIGN(kernel.name, map.text(".name"));
  DOPPEL_ASSIGN(kernel.symbol, map.text(".symbol"));
  if (kernel.name.empty() || kernel.symbol.empty()) {
    return bad_metadata("has a kernel without .name or .symbol.");
  }
  DOPPEL_TRY(map.number(".kernarg_segment_size", kernel.kernarg_bytes, true));
  DOPPEL_TRY(map.number(".kernarg_segment_align", kernel.kernarg_align, true));
  DOPPEL_TRY(map.number(".group_segment_fixed_size", kernel.group_bytes, true));
  DOPPEL_TRY(map.number(".private_segment_fixed_size", kernel.private_bytes, true));
  DOPPEL_TRY(map.number(".wavefront_size", kernel.wave_size, true));
  DOPPEL_TRY(map.number(".max_flat_workgroup_size", kernel.max_workgroup_size, true));
  DOPPEL_TRY(map.number(".sgpr_count", kernel.sgpr_count, false));
  DOPPEL_TRY(map.number(".vgpr_count", kernel.vgpr_count, false));
  if (const msgpack::object* dynamic = map.find(".uses_dynamic_stack")) {
    kernel.uses_dynamic_stack = dynamic->type == msgpack::type::BOOLEAN && dynamic->via.boolean;
  }
  DOPPEL_TRY(parse_required_workgroup_size(map, kernel));
  DOPPEL_ASSIGN(auto args, map.list(".args"));
  for (const msgpack::object& arg : args) {
    DOPPEL_ASSIGN(KernelArg parsed, parse_arg(arg, kernel.kernarg_bytes));
    kernel.args.push_back(std::move(parsed));
  }
  std::ranges::stable_sort(kernel.args, {}, &KernelArg::offset);
  return kernel;
}

Result<CodeObjectMetadata> parse_root(const msgpack::object& root) {
  DOPPEL_ASSIGN(Map map, Map::from(root, "root"));
  CodeObjectMetadata metadata;
  DOPPEL_ASSIGN(metadata.target, map.text("amdhsa.target"));
  DOPPEL_ASSIGN(auto kernels, map.list("amdhsa.kernels"));
  for (const msgpack::object& kernel : kernels) {
    DOPPEL_ASSIGN(KernelInfo parsed, parse_kernel(kernel));
    metadata.kernels.push_back(std::move(parsed));
  }
  return metadata;
}

}  // namespace

std::string_view to_string(KernelArgKind kind) {
  auto row = std::ranges::find(kKinds, kind, &KindRow::kind);
  return row == kKinds.end() ? "?" : row->name;
}

Result<CodeObjectMetadata> parse_code_object_metadata(std::span<const std::byte> note) {
  try {
    const msgpack::object_handle handle = msgpack::unpack(
        reinterpret_cast<const char*>(note.data()), note.size(), nullptr, nullptr, kLimits);
    return parse_root(handle.get());
  } catch (const std::exception& failure) {  // msgpack reports damage by throwing
    return bad_metadata(fmt::format("is damaged ({}).", failure.what()));
  }
}

}  // namespace doppel
