#include "backends/mock/virtual_kfd.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "backends/mock/raw_system.h"
#include "backends/mock/user_memory.h"

namespace doppel::mock {
namespace {

enum class Direction : uint8_t { In = 1, Out = 2, InOut = 3 };

constexpr bool has(Direction direction, Direction part) {
  return (static_cast<uint8_t>(direction) & static_cast<uint8_t>(part)) != 0;
}

}  // namespace

struct VirtualKfd::Row {
  uint32_t number;
  std::string_view name;
  size_t bytes;
  Direction direction;
  int (*call)(VirtualKfd&, void*);
};

const VirtualKfd::Row* VirtualKfd::find_row(uint32_t number) {
  static constexpr auto kRows = std::to_array<Row>({
#define KFD_IOCTL(number, name, arguments, direction, handler) \
  {number, #name, sizeof(arguments), Direction::direction,     \
   [](VirtualKfd& kfd, void* args) { return kfd.handler(*static_cast<arguments*>(args)); }},
#include "backends/mock/kfd_ioctls.inc"
#undef KFD_IOCTL
  });
  auto row = std::ranges::find(kRows, number, &Row::number);
  return row == kRows.end() ? nullptr : &*row;
}

std::string_view VirtualKfd::ioctl_name(uint32_t number) {
  const Row* row = find_row(number);
  return row == nullptr ? std::string_view{} : row->name;
}

VirtualKfd::VirtualKfd(Machine& machine, Progress& progress, RenderNodes& render_nodes, int kfd_fd,
                       KfdVersion version)
    : machine_(machine),
      progress_(progress),
      render_nodes_(render_nodes),
      kfd_fd_(kfd_fd),
      version_(version),
      owner_(raw::process_id()) {
  for (VirtualGpu& gpu : machine_.gpus()) process_.devices.emplace_back().gpu = &gpu;
}

VirtualKfd::~VirtualKfd() {
  for (auto& [id, queue] : process_.queues) release_queue(queue);
}

Result<> VirtualKfd::start() {
  for (ProcessDevice& device : process_.devices) {
    const uint32_t gpu_id = device.gpu->gpu_id();
    DOPPEL_ASSIGN(device.doorbells,
                  PageMapping::create(kfd_fd_, kfd_mmap_offset(KfdMmapType::Doorbell, gpu_id),
                                      kfd::abi::kDoorbellSliceBytes));
    DOPPEL_ASSIGN(
        device.mmio,
        PageMapping::create(kfd_fd_, kfd_mmap_offset(KfdMmapType::Mmio, gpu_id), kPageBytes));
  }
  return {};
}

// The number alone selects the ioctl: neither type nor size nor direction of the request count,
// since clients are built against many versions of the structures. Of those the smaller size is
// copied, and what the client does not know is zero.
int VirtualKfd::ioctl(unsigned long request, uint64_t argument) {
  if (raw::process_id() != owner_) return -EBADF;
  const Row* row = find_row(_IOC_NR(request));
  if (row == nullptr) return -ENOTTY;
  const size_t user_bytes = _IOC_SIZE(request);
  std::array<std::byte, 1024> fixed;
  std::vector<std::byte> large;
  std::byte* copy = fixed.data();
  const size_t bytes = std::max(user_bytes, row->bytes);
  if (bytes > fixed.size()) {
    large.resize(bytes);
    copy = large.data();
  }
  std::memset(copy, 0, bytes);
  if (has(row->direction, Direction::In) && !copy_from_user(copy, argument, user_bytes))
    return -EFAULT;
  const int result = row->call(*this, copy);
  if (has(row->direction, Direction::Out) && !copy_to_user(argument, copy, user_bytes))
    return -EFAULT;
  return result;
}

int VirtualKfd::check_mmap(uint64_t offset, uint64_t length) const {
  if (raw::process_id() != owner_) return -EBADF;
  if (offset >= kfd_mmap_offset(KfdMmapType::Events) &&
      offset < kfd_mmap_offset(KfdMmapType::Doorbell))
    return length > kfd::abi::kEventPageBytes || !process_.events.has_page() ? -EINVAL : 0;
  for (const ProcessDevice& device : process_.devices) {
    const uint32_t gpu_id = device.gpu->gpu_id();
    if (offset == kfd_mmap_offset(KfdMmapType::Doorbell, gpu_id))
      return length == kfd::abi::kDoorbellSliceBytes ? 0 : -EINVAL;
    if (offset == kfd_mmap_offset(KfdMmapType::Mmio, gpu_id))
      return length == kPageBytes ? 0 : -EINVAL;
  }
  return offset >= kfd_mmap_offset(KfdMmapType::Mmio) ? -ENODEV : -EFAULT;
}

ProcessDevice* KfdProcess::find_device(uint32_t gpu_id) {
  auto device = std::ranges::find_if(
      devices, [&](const ProcessDevice& entry) { return entry.gpu->gpu_id() == gpu_id; });
  return device == devices.end() ? nullptr : &*device;
}

KfdAllocation* KfdProcess::find_allocation(uint64_t handle) {
  ProcessDevice* device = find_device(handle_gpu_id(handle));
  return device == nullptr ? nullptr : device->allocations.find(handle_id(handle));
}

ProcessDevice* VirtualKfd::bound_device(uint32_t gpu_id, int unbound_error, int& failure) {
  ProcessDevice* device = process_.find_device(gpu_id);
  failure = device == nullptr ? -EINVAL : device->drm == nullptr ? unbound_error : 0;
  return failure == 0 ? device : nullptr;
}

}  // namespace doppel::mock
