#include "backends/mock/ioctl_names.h"

#include <sys/ioctl.h>

#include <cstdint>

namespace doppel::mock {
namespace {

constexpr uint32_t kKfdType = 'K';
constexpr uint32_t kDrmType = 'd';

std::string_view kfd_name(uint32_t number) {
  switch (number) {
#define KFD_IOCTL(number, name, arguments, direction, handler) \
  case number:                                                 \
    return #name;
#include "backends/mock/kfd_ioctls.inc"
#undef KFD_IOCTL
    default:
      return "?";
  }
}

std::string_view drm_name(uint32_t number) {
  switch (number) {
#define DRM_CALL(number, name, arguments, direction, handler) \
  case number:                                                \
    return #name;
#include "backends/mock/drm_ioctls.inc"
#undef DRM_CALL
    default:
      return "?";
  }
}

}  // namespace

bool is_ioctl_name(std::string_view name) {
#define KFD_IOCTL(number, known, arguments, direction, handler) \
  if (name == #known) return true;
#include "backends/mock/kfd_ioctls.inc"
#undef KFD_IOCTL
#define DRM_CALL(number, known, arguments, direction, handler) \
  if (name == #known) return true;
#include "backends/mock/drm_ioctls.inc"
#undef DRM_CALL
  return false;
}

std::string_view ioctl_name(unsigned long request) {
  if (_IOC_TYPE(request) == kKfdType) return kfd_name(_IOC_NR(request));
  if (_IOC_TYPE(request) == kDrmType) return drm_name(_IOC_NR(request));
  return "?";
}

}  // namespace doppel::mock
