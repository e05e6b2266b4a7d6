#include "emulator/verify/address_book.h"

#include <fmt/format.h>

#include <algorithm>

namespace doppel::verify {
namespace {

constexpr size_t kRememberedBuffers = 4096;  // that are gone

uint64_t host_address(const emu::Mapping& mapping) {
  return reinterpret_cast<uint64_t>(mapping.host);
}

}  // namespace

void AddressBook::add_space(const emu::GpuVm& vm) {
  if (std::ranges::find(spaces_, &vm) != spaces_.end()) return;
  spaces_.push_back(&vm);
  for (const auto& [va, mapping] : vm.mappings()) map(vm, mapping);
}

void AddressBook::map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  if (std::ranges::find(spaces_, &vm) == spaces_.end()) spaces_.push_back(&vm);
  std::shared_ptr<Buffer>& buffer = live_[host_address(mapping)];
  if (buffer && buffer->size == mapping.size) {
    ++buffer->mappings;
    return;
  }
  buffer = std::make_shared<Buffer>();
  buffer->number = next_number_++;
  buffer->name = fmt::format("{} {}", emu::to_string(mapping.kind), buffer->number);
  buffer->host = host_address(mapping);
  buffer->size = mapping.size;
  buffer->va = mapping.va;
  buffer->allocation = mapping.allocation;
  buffer->kind = mapping.kind;
  buffer->coherent = mapping.coherent;
  buffer->host_visible = mapping.host_visible;
  buffer->mappings = 1;
}

Buffer* AddressBook::unmap(const emu::GpuVm& vm, const emu::Mapping& mapping, uint64_t step) {
  if (vm.mappings().size() == 1) std::erase(spaces_, &vm);  // it may be gone after this
  const auto found = live_.find(host_address(mapping));
  if (found == live_.end() || --found->second->mappings != 0) return nullptr;
  found->second->freed_at = step;
  if (gone_.size() >= kRememberedBuffers) gone_.erase(gone_.begin());
  gone_.push_back(found->second);
  live_.erase(found);
  return gone_.back().get();
}

void AddressBook::set_name(uint64_t va, std::string name) {
  const emu::GpuVm* vm = space_of(va);
  const auto found = vm ? live_.find(host_address(*vm->find(va))) : live_.end();
  if (found != live_.end()) found->second->name = std::move(name);
}

uint64_t AddressBook::host_of(const emu::GpuVm& vm, uint64_t va) {
  const emu::Mapping* mapping = vm.find(va);
  return mapping ? host_address(*mapping) + (va - mapping->va) : 0;
}

const emu::GpuVm* AddressBook::space_of(uint64_t va) const {
  const auto found =
      std::ranges::find_if(spaces_, [&](const emu::GpuVm* vm) { return vm->find(va); });
  return found == spaces_.end() ? nullptr : *found;
}

const Buffer* AddressBook::find(uint64_t host) const {
  auto above = live_.upper_bound(host);
  if (above == live_.begin()) return nullptr;
  const Buffer& buffer = *std::prev(above)->second;
  return host - buffer.host < buffer.size ? &buffer : nullptr;
}

const Buffer* AddressBook::find_gone(uint64_t va) const {
  for (auto buffer = gone_.rbegin(); buffer != gone_.rend(); ++buffer) {
    if (va - (*buffer)->va < (*buffer)->size) return buffer->get();
  }
  return nullptr;
}

const Buffer* AddressBook::find_below(uint64_t va, uint64_t within) const {
  const Buffer* nearest = nullptr;
  for (const auto& [host, buffer] : live_) {
    const uint64_t end = buffer->va + buffer->size;
    if (va < end || va - end >= within) continue;
    if (nearest == nullptr || nearest->va < buffer->va) nearest = buffer.get();
  }
  return nearest;
}

BufferRange AddressBook::describe(uint64_t host, uint64_t size, uint64_t va) const {
  const Buffer* buffer = find(host);
  if (!buffer) return {"unmapped memory", 0, size, va};
  return {buffer->name, host - buffer->host, size, va};
}

}  // namespace doppel::verify
