#include "emulator/memory/gpu_vm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "emulator/memory/mapping_text.h"
#include "emulator/verify/observer.h"

namespace doppel::emu {
namespace {

bool contains(const Mapping& mapping, uint64_t va) {
  return va - mapping.va < mapping.size;
}

bool allows(const Mapping& mapping, Access access) {
  const auto wanted = std::to_underlying(access);
  return (mapping.permissions & wanted) == wanted;
}

std::string describe_permissions(uint8_t permissions) {
  std::string text;
  for (Access access : {Access::Read, Access::Write, Access::Execute}) {
    if (!(permissions & std::to_underlying(access))) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(access));
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::string_view to_string(Access access) {
  switch (access) {
    case Access::Read:
      return "read";
    case Access::Write:
      return "write";
    case Access::ReadWrite:
      return "read-write";
    case Access::Execute:
      return "execute";
  }
  return "access";
}

std::string_view to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Vram:
      return "vram";
    case MemoryKind::PeerVram:
      return "peer-vram";
    case MemoryKind::Gtt:
      return "gtt";
    case MemoryKind::UserPtr:
      return "userptr";
    case MemoryKind::Doorbell:
      return "doorbell";
    case MemoryKind::Mmio:
      return "mmio";
  }
  return "memory";
}

std::string describe(const Mapping& mapping) {
  return fmt::format("{} 0x{:x}+0x{:x} (handle {})", to_string(mapping.kind), mapping.va,
                     mapping.size, mapping.allocation);
}

std::string MemoryFault::message() const {
  if (kind == FaultKind::Misaligned && size <= 8 && va % size != 0) {
    return fmt::format("The {} of {} bytes is not aligned (va 0x{:x}).", to_string(access), size,
                       va);
  }
  std::string_view trouble = "reaches unmapped memory";
  if (kind == FaultKind::PermissionDenied) trouble = "is not permitted";
  if (kind == FaultKind::Misaligned) trouble = "crosses from one mapping into another";
  return fmt::format("The {} of {} bytes {} (va 0x{:x}).", to_string(access), size, trouble, va);
}

Fault to_fault(const MemoryFault& memory_fault) {
  Fault fault;
  fault.kind = memory_fault.kind;
  fault.message = memory_fault.message();
  fault.address = memory_fault.va;
  fault.access_size = static_cast<uint32_t>(
      std::min<uint64_t>(memory_fault.size, std::numeric_limits<uint32_t>::max()));
  fault.is_write = memory_fault.access == Access::Write || memory_fault.access == Access::ReadWrite;
  fault.nearest_allocation = memory_fault.nearest;
  return fault;
}

Result<> GpuVm::map(const Mapping& mapping) {
  if (mapping.size == 0 || mapping.va % granule_ != 0 || mapping.size % granule_ != 0) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("An extent is made of whole granules of {} bytes (va 0x{:x}, size "
                             "0x{:x}).",
                             granule_, mapping.va, mapping.size));
  }
  if (mapping.va > std::numeric_limits<uint64_t>::max() - mapping.size || !mapping.host) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("An extent lies inside the address space and has host memory "
                             "(va 0x{:x}, size 0x{:x}, host {}).",
                             mapping.va, mapping.size, fmt::ptr(mapping.host)));
  }
  const auto above = mappings_.lower_bound(mapping.va);
  const Mapping* other = nullptr;
  if (above != mappings_.end() && above->first < mapping.va + mapping.size) other = &above->second;
  if (above != mappings_.begin() && contains(std::prev(above)->second, mapping.va)) {
    other = &std::prev(above)->second;
  }
  if (other) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The extent overlaps one that is mapped (va 0x{:x}, size 0x{:x}, "
                             "mapped: {}).",
                             mapping.va, mapping.size, describe(*other)));
  }
  mappings_.emplace_hint(above, mapping.va, mapping);
  ++epoch_;
  if (observer_) observer_->on_map(*this, mapping);
  return {};
}

Result<> GpuVm::unmap(uint64_t va) {
  const auto found = mappings_.find(va);
  if (found == mappings_.end()) {
    return error(StatusCode::NotFound, fmt::format("No extent begins here (va 0x{:x}).", va));
  }
  if (observer_) observer_->on_unmap(*this, found->second);
  last_hit_.store(nullptr, std::memory_order_relaxed);
  mappings_.erase(found);
  ++epoch_;
  return {};
}

const Mapping* GpuVm::find(uint64_t va) const {
  const Mapping* hint = last_hit_.load(std::memory_order_relaxed);
  if (hint && contains(*hint, va)) return hint;
  auto above = mappings_.upper_bound(va);
  if (above == mappings_.begin()) return nullptr;
  const Mapping& mapping = std::prev(above)->second;
  if (!contains(mapping, va)) return nullptr;
  last_hit_.store(&mapping, std::memory_order_relaxed);
  return &mapping;
}

std::expected<std::byte*, MemoryFault> GpuVm::translate(uint64_t va, uint64_t size,
                                                        Access access) const {
  const Mapping* mapping = find(va);
  if (mapping && allows(*mapping, access) && size <= mapping->size - (va - mapping->va)) {
    return mapping->host + (va - mapping->va);
  }
  return std::unexpected(fault_at(va, size, access));
}

std::expected<std::span<std::byte>, MemoryFault> GpuVm::translate_prefix(uint64_t va, uint64_t size,
                                                                         Access access) const {
  const Mapping* mapping = find(va);
  if (!mapping || !allows(*mapping, access)) return std::unexpected(fault_at(va, size, access));
  const uint64_t offset = va - mapping->va;
  return std::span(mapping->host + offset, std::min(size, mapping->size - offset));
}

bool GpuVm::fill_tlb(uint64_t va, TlbEntry& entry) const {
  const Mapping* mapping = find(va);
  if (!mapping) return false;
  entry = {mapping->va, mapping->va + mapping->size, mapping->host, epoch_, mapping->permissions};
  return true;
}

std::expected<void, MemoryFault> GpuVm::read(uint64_t va, std::span<std::byte> out) const {
  while (!out.empty()) {
    auto bytes = translate_prefix(va, out.size(), Access::Read);
    if (!bytes) return std::unexpected(std::move(bytes).error());
    std::memcpy(out.data(), bytes->data(), bytes->size());
    va += bytes->size();
    out = out.subspan(bytes->size());
  }
  return {};
}

std::expected<void, MemoryFault> GpuVm::write(uint64_t va, std::span<const std::byte> data) const {
  while (!data.empty()) {
    auto bytes = translate_prefix(va, data.size(), Access::Write);
    if (!bytes) return std::unexpected(std::move(bytes).error());
    std::memcpy(bytes->data(), data.data(), bytes->size());
    va += bytes->size();
    data = data.subspan(bytes->size());
  }
  return {};
}

MemoryFault GpuVm::fault_at(uint64_t va, uint64_t size, Access access) const {
  uint64_t at = va;
  uint64_t left = std::max<uint64_t>(size, 1);
  const Mapping* mapping = find(at);
  while (mapping && allows(*mapping, access)) {
    const uint64_t reach = mapping->size - (at - mapping->va);
    at += reach;
    if (left <= reach) break;  // accessible throughout: only the border between extents is wrong
    left -= reach;
    mapping = find(at);
  }
  MemoryFault fault{FaultKind::UnmappedAccess, at, size, access, {}};
  if (mapping && !allows(*mapping, access)) {
    fault.kind = FaultKind::PermissionDenied;
  } else if (mapping) {
    fault.kind = FaultKind::Misaligned;
    fault.va = va;
  }
  fault.nearest = describe_nearest(fault.va);
  return fault;
}

std::string GpuVm::describe_nearest(uint64_t va) const {
  if (mappings_.empty()) return "";
  if (const Mapping* mapping = find(va)) {
    return fmt::format("{}, {} bytes inside, which allows {}", describe(*mapping), va - mapping->va,
                       describe_permissions(mapping->permissions));
  }
  const auto above = mappings_.upper_bound(va);
  const Mapping* below = above == mappings_.begin() ? nullptr : &std::prev(above)->second;
  const uint64_t over = below ? va - (below->va + below->size) : 0;
  if (below && (above == mappings_.end() || over <= above->first - va)) {
    return fmt::format("{}, {} bytes above its end", describe(*below), over);
  }
  return fmt::format("{}, {} bytes below it", describe(above->second), above->first - va);
}

}  // namespace doppel::emu
