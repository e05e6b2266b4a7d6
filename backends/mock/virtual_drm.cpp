#include "backends/mock/virtual_drm.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "backends/mock/persona.h"
#include "backends/mock/user_memory.h"

namespace doppel::mock {
namespace {

enum class Direction : uint8_t { In = 1, Out = 2, InOut = 3 };

constexpr std::string_view kDriverName = "amdgpu";
constexpr std::string_view kDriverDate = "20150101";
constexpr std::string_view kDriverDescription = "AMD GPU";
constexpr int kDriverMajor = 3;
constexpr int kDriverMinor = 57;

// Newer than Debian 12's headers or not in them.
constexpr uint64_t kCapSyncobj = 0x13;
constexpr uint64_t kCapSyncobjTimeline = 0x14;

/// Core numbers that exist, but not on render nodes (drm_ioctl_permit: EACCES): authentication,
/// masters, modes.
bool is_primary_only(uint32_t number) {
  constexpr std::array kLegacy = {0x01, 0x02, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0a,
                                  0x0b, 0x0d, 0x10, 0x11, 0x1e, 0x1f, 0x3a, 0x55};
  return std::ranges::find(kLegacy, static_cast<int>(number)) != kLegacy.end() ||
         (number >= 0xa0 && number <= 0xbe) || (number >= 0xc6 && number <= 0xc9);
}

/// drm_copy_field: the text, cut to the room the client has; the full length comes back.
int copy_field(char* to, __kernel_size_t& room, std::string_view text) {
  const size_t copied = std::min<size_t>(room, text.size());
  room = text.size();
  if (copied == 0 || to == nullptr) return 0;
  return copy_to_user(reinterpret_cast<uint64_t>(to), text.data(), copied) ? 0 : -EFAULT;
}

/// Major, minor, patch.
std::tuple<int, int, int> driver_version(const VirtualGpu& gpu) {
  if (gpu.persona() == nullptr) return {kDriverMajor, kDriverMinor, 0};
  const auto& recorded = gpu.persona()->drm_version;
  return {recorded[0], recorded[1], recorded[2]};
}

}  // namespace

struct VirtualDrm::Row {
  uint32_t number;
  std::string_view name;
  size_t bytes;
  uint8_t direction;
  int (*call)(VirtualDrm&, DrmFile&, void*);
};

const VirtualDrm::Row* VirtualDrm::find_row(uint32_t number) {
  static constexpr auto kRows = std::to_array<Row>({
#define DRM_CALL(number, name, arguments, direction, handler)                    \
  {number, #name, sizeof(arguments), static_cast<uint8_t>(Direction::direction), \
   [](VirtualDrm& drm, DrmFile& file, void* args) {                              \
     return drm.handler(file, *static_cast<arguments*>(args));                   \
   }},
#include "backends/mock/drm_ioctls.inc"
#undef DRM_CALL
  });
  auto row = std::ranges::find(kRows, number, &Row::number);
  return row == kRows.end() ? nullptr : &*row;
}

std::string_view VirtualDrm::ioctl_name(uint32_t number) {
  const Row* row = find_row(number);
  return row == nullptr ? std::string_view{} : row->name;
}

// As drm_ioctl: by number; what both sides call input is copied in, what both call output is copied
// back, each in the client's size.
int VirtualDrm::ioctl(DrmFile& file, unsigned long request, uint64_t argument) {
  const uint32_t number = _IOC_NR(request);
  const Row* row = find_row(number);
  if (row == nullptr) return is_primary_only(number) ? -EACCES : -EINVAL;
  const uint32_t user_direction = _IOC_DIR(request);
  const bool in = (user_direction & _IOC_WRITE) && (row->direction & 1);
  const bool out = (user_direction & _IOC_READ) && (row->direction & 2);
  const size_t user_bytes = _IOC_SIZE(request);
  std::vector<std::byte> copy(std::max(user_bytes, row->bytes));
  if (in && !copy_from_user(copy.data(), argument, user_bytes)) return -EFAULT;
  const int result = row->call(*this, file, copy.data());
  if (out && !copy_to_user(argument, copy.data(), user_bytes)) return -EFAULT;
  return result;
}

int VirtualDrm::version(DrmFile& file, drm_version& args) {
  const auto [major, minor, patch] = driver_version(file.gpu());
  args.version_major = major;
  args.version_minor = minor;
  args.version_patchlevel = patch;
  if (const int failure = copy_field(args.name, args.name_len, kDriverName)) return failure;
  if (const int failure = copy_field(args.date, args.date_len, kDriverDate)) return failure;
  return copy_field(args.desc, args.desc_len, kDriverDescription);
}

int VirtualDrm::get_cap(DrmFile&, drm_get_cap& args) {
  args.value = 0;
  switch (args.capability) {
    case DRM_CAP_TIMESTAMP_MONOTONIC:
      args.value = 1;
      return 0;
    case DRM_CAP_PRIME:
      args.value = DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT;
      return 0;
    case kCapSyncobj:
    case kCapSyncobjTimeline:
      return 0;  // without rings there is nothing to synchronise with
    default:
      return -EOPNOTSUPP;  // mode setting
  }
}

kfd::RenderNodeInfo VirtualDrm::describe(const VirtualGpu& gpu) const {
  const DeviceProfile& profile = gpu.profile();
  kfd::RenderNodeInfo info;
  info.driver_name = kDriverName;
  std::tie(info.driver_major, info.driver_minor, info.driver_patch) = driver_version(gpu);
  info.marketing_name = profile.marketing_name;
  info.device_id = profile.device_id;
  info.pci_revision = profile.pci_revision;
  info.external_revision = profile.external_revision;
  info.vram_bytes = profile.vram_bytes;
  info.visible_vram_bytes = profile.visible_vram_bytes();
  return info;
}

// ---- Command submission: no rings, hence no entity to submit to (amdgpu_ctx_get_entity).

int VirtualDrm::ctx(DrmFile&, union drm_amdgpu_ctx&) {
  return -EINVAL;
}
int VirtualDrm::bo_list(DrmFile&, union drm_amdgpu_bo_list&) {
  return -EINVAL;
}
int VirtualDrm::cs(DrmFile&, union drm_amdgpu_cs&) {
  return -EINVAL;
}
int VirtualDrm::wait_cs(DrmFile&, union drm_amdgpu_wait_cs&) {
  return -EINVAL;
}
int VirtualDrm::wait_fences(DrmFile&, union drm_amdgpu_wait_fences&) {
  return -EINVAL;
}
int VirtualDrm::fence_to_handle(DrmFile&, union drm_amdgpu_fence_to_handle&) {
  return -EINVAL;
}

int VirtualDrm::vm(DrmFile&, union drm_amdgpu_vm& args) {
  return args.in.op == AMDGPU_VM_OP_RESERVE_VMID || args.in.op == AMDGPU_VM_OP_UNRESERVE_VMID
             ? 0
             : -EINVAL;
}

}  // namespace doppel::mock
