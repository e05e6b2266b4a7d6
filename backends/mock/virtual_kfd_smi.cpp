// VirtualKfd: SMI events: a descriptor on which a client reads, as text lines, what happens to its
// GPU. The client writes a 64-bit mask of the events it wants. Linux kfd_smi_events.c.
#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include <fmt/format.h>

#include "backends/mock/raw_system.h"
#include "backends/mock/virtual_kfd.h"

namespace doppel::mock {

int VirtualKfd::smi_events(kfd_ioctl_smi_events_args& args) {
  ProcessDevice* device = process_.find_device(args.gpuid);
  if (device == nullptr) return -EINVAL;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    return -errno;
  smi_clients_.push_back({.gpu_index = device->gpu->index(), .driver_end = UniqueFd(ends[0])});
  args.anon_fd = static_cast<uint32_t>(ends[1]);
  return 0;
}

void VirtualKfd::report_smi_vm_fault(uint32_t gpu_index) {
  constexpr uint64_t kVmFault = KFD_SMI_EVENT_VMFAULT;
  const std::string line = fmt::format("{:x} {:x}:{}\n", kVmFault, owner_, "doppel");
  for (SmiClient& client : smi_clients_) {
    if (client.gpu_index != gpu_index) continue;
    uint64_t mask = 0;
    while (::recv(client.driver_end.get(), &mask, sizeof mask, MSG_DONTWAIT) == sizeof mask)
      client.mask = mask;
    if (client.mask & KFD_SMI_EVENT_MASK_FROM_INDEX(kVmFault))
      (void)::send(client.driver_end.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

}  // namespace doppel::mock
