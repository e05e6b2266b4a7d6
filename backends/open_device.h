// open_device: the one place that turns a name into a device, whatever drives it.
//
//   "kfd:0"            the first GPU of this machine, through /dev/kfd ("kfd" is the same)
//   "mock:gfx1100"     an emulated GPU in this process; options follow after commas, as in
//                      "mock:gfx1100,cu=4,vram=1GiB,count=2,seed=7"
//
// The device keeps its driver alive; so do allocations and signals that outlive it.
#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/status.h"
#include "core/verify/verify.h"

namespace doppel::emu {
class Schedule;
}

namespace doppel {

struct OpenOptions {
  DeviceOptions device = {};
  /// Every call to the driver is written here, one JSON object a line; must outlive the device.
  std::ostream* record = nullptr;
  /// What to check while the device works; emulated devices only. See Device::findings().
  Verify verify = {};
  /// Decides in which order an emulated machine works, instead of its seed; must outlive the device
  /// and all that it gave. See backends/explore/explore.h.
  emu::Schedule* schedule = nullptr;
};

/// The device of that name. Unavailable, with what is missing, where there is no driver; NotFound
/// or InvalidArgument for a name that means nothing.
Result<std::unique_ptr<Device>> open_device(std::string_view name, const OpenOptions& options = {});

/// All devices of the machine that the name describes, in order: those of "kfd", or the `count` of
/// a "mock:" name. They can map each other's memory.
Result<std::vector<std::unique_ptr<Device>>> open_devices(std::string_view name,
                                                          const OpenOptions& options = {});

}  // namespace doppel
