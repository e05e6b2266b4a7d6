#include "core/device.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace doppel {
namespace {

constexpr uint64_t kStagingBytes = uint64_t{16} << 20;

Result<> check_transfer(const MemoryView& view, uint64_t bytes) {
  if (view.allocation == nullptr) {
    return error(StatusCode::InvalidArgument,
                 "The memory is empty: freed, moved from or never made.");
  }
  if (bytes == 0) return {};
  DOPPEL_TRY(check_view(view, "memory"));
  if (bytes <= view.size) return {};
  return error(StatusCode::OutOfRange,
               fmt::format("The transfer ({} bytes) is longer than the memory ({} bytes).", bytes,
                           view.size));
}

/// Where the CPU sees `view`, or nullptr.
std::byte* host_of(const MemoryView& view) {
  if (view.allocation->host == nullptr) return nullptr;
  return view.allocation->host + (view.gpu_address - view.allocation->gpu_address);
}

MemoryView part(const MemoryView& view, uint64_t offset, uint64_t bytes) {
  return {view.gpu_address + offset, bytes, view.allocation};
}

}  // namespace

Result<verify::FindingLog> Device::findings() {
  return error(StatusCode::Unavailable,
               fmt::format("The device ({}) was opened without verification.", info().name));
}

void Device::set_name(const MemoryView& memory, std::string name) {
  if (auto* observer = host_observer())
    observer->on_buffer_name(memory.gpu_address, std::move(name));
}

Result<Program> Device::load_program(const std::filesystem::path& path) {
  return load_program(read_file(path));
}

Result<Program> Device::load_program(std::span<const std::byte> file) {
  auto state = std::make_shared<ProgramState>();
  DOPPEL_ASSIGN(state->object, CodeObject::parse(file));
  if (&state->object.target() != &target()) {
    return error(StatusCode::InvalidArgument,
                 fmt::format("The code object is for {}, the device is {}.",
                             state->object.target().name, target().name));
  }
  const bool visible = info().visible_vram_bytes >= info().vram_bytes;
  DOPPEL_ASSIGN(state->image, allocate(state->object.image_bytes(), {.domain = MemoryDomain::Vram,
                                                                     .cpu_visible = visible,
                                                                     .executable = true}));
  std::vector<std::byte> image(state->object.image_bytes());
  DOPPEL_TRY(state->object.write_image(state->image.gpu_address(), image));
  DOPPEL_TRY(write(state->image, image));
  if (auto* observer = host_observer()) {
    for (const KernelInfo& kernel : state->object.kernels()) {
      observer->on_kernel_name(state->image.gpu_address() + kernel.entry_offset, kernel.code_bytes,
                               kernel.name);
    }
  }
  return Program(std::move(state));
}

ComputeCommands Device::compute() {
  auto queue = default_queue(QueueKind::Pm4);
  return queue ? ComputeCommands(**queue) : ComputeCommands(queue.error());
}

ComputeCommands Device::aql() {
  auto queue = default_queue(QueueKind::Aql);
  return queue ? ComputeCommands(**queue) : ComputeCommands(queue.error());
}

SdmaCommands Device::sdma() {
  auto queue = default_queue(QueueKind::Sdma);
  return queue ? SdmaCommands(**queue) : SdmaCommands(queue.error());
}

void Device::note(const MemoryView& memory, uint64_t bytes, MemoryAccess access,
                  std::string_view call) {
  if (auto* observer = host_observer()) {
    observer->on_host_access(memory.gpu_address, bytes, access, call);
  }
}

Result<> Device::write(const MemoryView& destination, std::span<const std::byte> data) {
  DOPPEL_TRY(check_transfer(destination, data.size()));
  if (data.empty()) return {};
  if (std::byte* host = host_of(destination)) {
    note(destination, data.size(), MemoryAccess::Write, "Device::write");
    std::memcpy(host, data.data(), data.size());
    return destination.allocation->options.domain == MemoryDomain::Vram ? flush_host_writes()
                                                                        : Result<>();
  }
  const uint64_t chunk = std::min<uint64_t>(data.size(), kStagingBytes);
  DOPPEL_ASSIGN(Allocation staging, allocate(chunk, {.domain = MemoryDomain::Gtt}));
  DOPPEL_ASSIGN(Queue * queue, default_queue(QueueKind::Sdma));
  for (uint64_t done = 0; done < data.size(); done += chunk) {
    const uint64_t bytes = std::min<uint64_t>(chunk, data.size() - done);
    note(staging, bytes, MemoryAccess::Write, "Device::write");
    std::memcpy(staging.host(), data.data() + done, bytes);
    DOPPEL_TRY(sdma().copy(part(staging, 0, bytes), part(destination, done, bytes)).submit());
    DOPPEL_TRY(queue->synchronize());
  }
  return {};
}

Result<> Device::read(const MemoryView& source, std::span<std::byte> out) {
  DOPPEL_TRY(check_transfer(source, out.size()));
  if (out.empty()) return {};
  if (const std::byte* host = host_of(source)) {
    note(source, out.size(), MemoryAccess::Read, "Device::read");
    std::memcpy(out.data(), host, out.size());
    return {};
  }
  const uint64_t chunk = std::min<uint64_t>(out.size(), kStagingBytes);
  DOPPEL_ASSIGN(Allocation staging, allocate(chunk, {.domain = MemoryDomain::Gtt}));
  DOPPEL_ASSIGN(Queue * queue, default_queue(QueueKind::Sdma));
  for (uint64_t done = 0; done < out.size(); done += chunk) {
    const uint64_t bytes = std::min<uint64_t>(chunk, out.size() - done);
    DOPPEL_TRY(sdma().copy(part(source, done, bytes), part(staging, 0, bytes)).submit());
    DOPPEL_TRY(queue->synchronize());
    note(staging, bytes, MemoryAccess::Read, "Device::read");
    std::memcpy(out.data() + done, staging.host(), bytes);
  }
  return {};
}

}  // namespace doppel
