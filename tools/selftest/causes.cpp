// Sources: Linux drivers/gpu/drm/amd/amdkfd (kfd_chardev.c, kfd_topology.c, kfd_device.c,
// kfd_process_queue_manager.c, kfd_doorbell.c, kfd_events.c), amdgpu_amdkfd_gpuvm.c, amdgpu_drv.c
// (module parameters).
#include <array>
#include <cerrno>

#include "tools/selftest/causes.h"

namespace doppel::selftest {
namespace {

constexpr std::array kRows = {
    // open-kfd
    CauseRow{.step = "open-kfd",
             .os_error = ENOENT,
             .text =
                 "The amdgpu module is not loaded: `modprobe amdgpu`, and look for its lines in "
                 "dmesg."},
    CauseRow{.step = "open-kfd",
             .os_error = ENOENT,
             .text = "The kernel was built without CONFIG_HSA_AMD."},
    CauseRow{.step = "open-kfd",
             .os_error = ENOENT,
             .text = "A container does not get the device node: pass --device /dev/kfd --device "
                     "/dev/dri."},
    CauseRow{.step = "open-kfd",
             .os_error = EACCES,
             .text = "The user is not in the group that owns /dev/kfd (render; video on older "
                     "systems): `usermod -aG render USER`, then log in again."},
    CauseRow{
        .step = "open-kfd",
        .os_error = EPERM,
        .text =
            "A device cgroup or a container's policy forbids the node, or the process is a 32-bit "
            "one, which KFD refuses."},
    CauseRow{.step = "open-kfd",
             .os_error = ENXIO,
             .text = "The node exists, and no driver is behind it: a stale node of a static /dev."},
    CauseRow{.step = "open-kfd",
             .os_error = EAGAIN,
             .text = "The driver is locked while a GPU is being reset: dmesg tells of the reset."},
    // kfd-version
    CauseRow{.step = "kfd-version",
             .code = StatusCode::Unsupported,
             .text = "The kernel's KFD speaks another ABI than this program knows: kernels from "
                     "4.17 on have 1.x."},
    CauseRow{.step = "kfd-version",
             .os_error = ENOTTY,
             .text = "Something else than KFD answers at /dev/kfd."},
    CauseRow{.step = "kfd-version",
             .os_error = EBADF,
             .text =
                 "The process is a fork of one that had opened /dev/kfd: KFD wants each process "
                 "to open it anew."},
    // topology
    CauseRow{.step = "topology",
             .code = StatusCode::Unavailable,
             .text = "sysfs is not mounted, or a container hides /sys/devices/virtual/kfd."},
    CauseRow{.step = "topology",
             .code = StatusCode::Malformed,
             .text = "The kernel writes its topology in a form that is new to this program: attach "
                     "the named file to a report."},
    CauseRow{.step = "topology",
             .code = StatusCode::System,
             .text = "GPUs come and go (reset, hotplug) while the topology is being read."},
    // gpu-node
    CauseRow{.step = "gpu-node",
             .code = StatusCode::NotFound,
             .text =
                 "amdgpu drives the card but KFD left it out: dmesg has a line that begins with "
                 "\"kfd kfd:\" and the reason (no PCIe atomics, unsupported ASIC, old firmware)."},
    CauseRow{
        .step = "gpu-node",
        .code = StatusCode::NotFound,
        .text = "A device cgroup hides the GPU: its render node is not given to the container."},
    CauseRow{.step = "gpu-node",
             .code = StatusCode::NotFound,
             .text = "The card is bound to another driver (vfio-pci): see `lspci -k`."},
    CauseRow{.step = "gpu-node",
             .code = StatusCode::Unsupported,
             .text =
                 "The card is newer or older than this program: core/target.cpp has one row per "
                 "target."},
    // render-node
    CauseRow{.step = "render-node",
             .os_error = ENOENT,
             .text =
                 "There is no DRM node: a container gets /dev/kfd without /dev/dri, or udev has "
                 "not made it."},
    CauseRow{.step = "render-node",
             .code = StatusCode::NotFound,
             .text = "The kernel exposes no render node for this GPU (drm_render_minor 0): it is "
                     "older than 4.16, or the display driver did not start."},
    CauseRow{.step = "render-node",
             .os_error = EACCES,
             .text = "The user may open /dev/kfd but not the render node: it belongs to the group "
                     "render."},
    CauseRow{.step = "render-node",
             .os_error = EPERM,
             .text = "A device cgroup forbids the render node while the topology shows the GPU."},
    // drm-driver
    CauseRow{.step = "drm-driver",
             .code = StatusCode::Unsupported,
             .text = "The render node of the topology belongs to another driver than amdgpu 3.x "
                     "(radeon, or another vendor's card): render minors were renumbered."},
    CauseRow{.step = "drm-driver",
             .os_error = EACCES,
             .text = "The render node opens but refuses queries: the process is confined (seccomp, "
                     "AppArmor)."},
    CauseRow{.step = "drm-driver",
             .os_error = ENODEV,
             .text = "The GPU has been lost (unplugged, or a reset that failed)."},
    CauseRow{
        .step = "drm-driver",
        .os_error = EINVAL,
        .text = "libdrm and the kernel disagree on a query: one is much older than the other."},
    // acquire-vm
    CauseRow{.step = "acquire-vm",
             .os_error = EBUSY,
             .text = "The process has bound this GPU to another open render node before (another "
                     "runtime in the same process)."},
    CauseRow{.step = "acquire-vm",
             .os_error = EINVAL,
             .text = "The render node is another GPU's, or its address space is in use for "
                     "graphics already."},
    CauseRow{.step = "acquire-vm", .os_error = ENOMEM, .text = "No memory for page tables."},
    // apertures, clocks
    CauseRow{.step = "apertures",
             .text = "The topology lists a GPU that the process may not use: device cgroup."},
    CauseRow{.step = "clocks",
             .code = StatusCode::System,
             .text = "The GPU's counter stands or jumps: it is in a power state (runtime suspend, "
                     "GFXOFF) that the firmware does not leave, or has been reset."},
    // memory
    CauseRow{.step = "vram",
             .os_error = ENOMEM,
             .text = "VRAM is full: other processes hold it (see /sys/class/drm/*/device/"
                     "mem_info_vram_used)."},
    CauseRow{.step = "vram",
             .os_error = EINVAL,
             .text = "The driver knows a flag or the GPU id differently: compare the kernel's "
                     "kfd_ioctl.h."},
    CauseRow{.step = "vram-cpu",
             .os_error = EINVAL,
             .text = "The VRAM is beyond the BAR: enable resizable BAR (\"Above 4G decoding\") in "
                     "the firmware's settings."},
    CauseRow{
        .step = "vram-cpu", .os_error = ENOMEM, .text = "The visible part of VRAM is used up."},
    CauseRow{.step = "vram-cpu",
             .code = StatusCode::System,
             .text = "The BAR does not reach the memory: a bridge or a virtual machine maps it "
                     "wrongly, or the memory is defective."},
    CauseRow{.step = "gtt",
             .os_error = ENOMEM,
             .text =
                 "The driver's limit of system memory is reached: see the parameters gttsize of "
                 "amdgpu and pages_limit of ttm."},
    CauseRow{
        .step = "userptr",
        .os_error = ENOMEM,
        .text =
            "All processes together have reached KFD's limit of system memory: see the parameter "
            "no_system_mem_limit of amdgpu."},
    CauseRow{.step = "userptr",
             .os_error = ENODEV,
             .text = "The driver was built without CONFIG_DRM_AMDGPU_USERPTR."},
    CauseRow{.step = "events",
             .os_error = ENOSPC,
             .text = "All event slots of the process are in use (4096): something leaks events."},
    CauseRow{.step = "events",
             .os_error = EINVAL,
             .text = "The event page is not accepted: another runtime of the process gave one "
                     "before."},
    CauseRow{.step = "event-wait",
             .text =
                 "WAIT_EVENTS does not wake: this needs no GPU, so that the driver itself is at "
                 "fault."},
    // device and queues
    CauseRow{.step = "device",
             .text = "A call that worked alone fails in the whole: the message names it."},
    CauseRow{.step = "sdma-queue",
             .os_error = ENOMEM,
             .text = "All SDMA queues of the GPU are taken by other processes, or KFD got none "
                     "(sdma_fw_version 0 in the topology)."},
    CauseRow{.step = "sdma-queue",
             .os_error = EINVAL,
             .text =
                 "The driver refuses the ring or its pointers: from 1.17 on their mappings must "
                 "fit exactly."},
    CauseRow{.step = "sdma-copy",
             .code = StatusCode::Timeout,
             .text = "The engine does not see the doorbell: doorbells are disabled (SR-IOV) or the "
                     "wrong page is mapped."},
    CauseRow{.step = "sdma-copy",
             .code = StatusCode::Timeout,
             .text = "The engine hangs on a packet: its layout differs in this SDMA version. dmesg "
                     "and `doppel decode --sdma` of the ring tell which."},
    CauseRow{.step = "sdma-copy",
             .code = StatusCode::Deadlock,
             .text = "The (virtual) engine has nothing to do: the write pointer or the doorbell "
                     "never reached it."},
    CauseRow{.step = "sdma-copy",
             .code = StatusCode::DeviceFault,
             .text = "The engine meets an address that is not mapped for it: the message has the "
                     "address."},
    CauseRow{.step = "sdma-copy",
             .code = StatusCode::System,
             .text =
                 "The copy ends without all of its bytes: the signal overtakes the data (missing "
                 "flush), or counts are off by one in this SDMA version."},
    CauseRow{.step = "pm4-queue",
             .os_error = ENOMEM,
             .text = "No hardware queue is free, or the doorbell page is full."},
    CauseRow{.step = "pm4-queue",
             .os_error = EINVAL,
             .text = "EOP buffer or context save area have the wrong size for this GPU: the driver "
                     "wants its own sizes exactly (kfd_queue.c)."},
    CauseRow{.step = "pm4-queue",
             .os_error = EBUSY,
             .text = "No doorbell is left for the process on this GPU."},
    CauseRow{.step = "pm4-queue",
             .os_error = EIO,
             .text =
                 "The scheduler firmware (HWS, MES) hangs since an earlier failure: a GPU reset "
                 "or a reboot helps."},
    CauseRow{.step = "pm4-queue",
             .os_error = ETIME,
             .text = "The scheduler firmware (HWS, MES) does not answer: dmesg asks for a reset."},
    CauseRow{.step = "pm4-signal",
             .code = StatusCode::Timeout,
             .text =
                 "The compute queue does not run: no doorbells, the scheduler has not mapped the "
                 "queue, or PM4 queues are unsupported by its firmware (try the AQL steps)."},
    CauseRow{.step = "pm4-signal",
             .code = StatusCode::Deadlock,
             .text =
                 "The (virtual) queue has nothing to do: the write pointer or the doorbell never "
                 "reached it."},
    CauseRow{.step = "pm4-signal",
             .code = StatusCode::DeviceFault,
             .text =
                 "The CP stops on a packet of this GPU's generation: compare with `doppel decode "
                 "--explain`."},
    CauseRow{.step = "interrupt",
             .text =
                 "Interrupts do not arrive: MSI is broken (boot with amdgpu.msi=0 to compare), or "
                 "the event id in the packet is not the driver's."},
    CauseRow{.step = "host-flush",
             .text =
                 "The register page that flushes the host data path can't be used: SR-IOV guests "
                 "and kernels with pages above 4 KiB have none."},
    CauseRow{.step = "program", .os_error = ENOMEM, .text = "No memory for code: VRAM is full."},
    CauseRow{.step = "pm4-kernel",
             .code = StatusCode::DeviceFault,
             .text =
                 "The kernel faults: registers of the dispatch (COMPUTE_PGM, RSRC, USER_DATA) are "
                 "laid out differently on this GPU, or it lacks an instruction."},
    CauseRow{.step = "pm4-kernel",
             .code = StatusCode::Timeout,
             .text = "The dispatch never ends: wave size or scratch are wrong for this GPU, or it "
                     "waits for compute units that are masked off."},
    CauseRow{.step = "pm4-kernel",
             .code = StatusCode::System,
             .text =
                 "The result is stale or wrong: caches are not flushed as this generation wants "
                 "(ACQUIRE_MEM, RELEASE_MEM), or compute units compute wrongly."},
    CauseRow{.step = "aql-queue",
             .os_error = EINVAL,
             .text = "The driver refuses an AQL ring of this size, or its pointers."},
    CauseRow{.step = "aql-queue", .os_error = ENOMEM, .text = "No hardware queue is free."},
    CauseRow{.step = "aql-kernel",
             .code = StatusCode::Timeout,
             .text =
                 "The packet processor does not take the packet: header published too early, "
                 "doorbell value off by one, or the read pointer offset of amd_queue_t is wrong."},
    CauseRow{.step = "aql-kernel",
             .code = StatusCode::DeviceFault,
             .text =
                 "The packet processor refuses a packet or the kernel faults: the message names "
                 "it."},
    // graphs and several GPUs
    CauseRow{.step = "graph",
             .text =
                 "Each engine works alone, so that the order between them is at fault: waits on "
                 "signals (WAIT_REG_MEM, POLL_REGMEM), or caches between SDMA and compute."},
    CauseRow{.step = "second-gpu",
             .text = "The second GPU fails where the first did not: run with --gpu 1."},
    CauseRow{.step = "peer-copy",
             .os_error = EINVAL,
             .text = "The GPUs can't reach each other: no large BAR, an IOMMU or a bridge (ACS) "
                     "between them, or amdgpu.pcie_p2p=0."},
    CauseRow{.step = "peer-copy",
             .code = StatusCode::DeviceFault,
             .text = "The peer mapping is there and does not carry: a bridge or an IOMMU blocks "
                     "peer traffic."},
    CauseRow{.step = "multi-gpu-graph",
             .text = "Signals between GPUs do not arrive: they need memory that both map uncached "
                     "and coherent, and PCIe writes in order."},

};

constexpr std::string_view kGeneral =
    "See dmesg around this time: the driver tells more than its errno.";

bool applies(const CauseRow& row, std::string_view step, const Status& failure) {
  return row.step == step && (row.os_error == 0 || row.os_error == failure.os_error()) &&
         (!row.code || *row.code == failure.code());
}

}  // namespace

std::span<const CauseRow> cause_rows() {
  return kRows;
}

std::vector<std::string_view> likely_causes(std::string_view step, const Status& failure) {
  std::vector<std::string_view> specific, general;
  for (const CauseRow& row : kRows) {
    if (applies(row, step, failure)) (row.os_error != 0 ? specific : general).push_back(row.text);
  }
  specific.insert(specific.end(), general.begin(), general.end());
  specific.push_back(kGeneral);
  return specific;
}

}  // namespace doppel::selftest
