// VirtualKfd: events, waiting, and what the hardware reports. Linux kfd_events.c and
// kfd_int_process_v*.c.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "backends/mock/loaded_program.h"
#include "backends/mock/user_memory.h"
#include "backends/mock/virtual_kfd.h"

namespace doppel::mock {
namespace {

constexpr uint64_t kNanosecondsPerMillisecond = 1'000'000;
constexpr uint32_t kMostEventsPerWait = 1 << 16;

bool is_memory_fault(const emu::Fault& fault) {
  return fault.kind == emu::FaultKind::UnmappedAccess ||
         fault.kind == emu::FaultKind::PermissionDenied;
}

}  // namespace

/// The client's own page for signal slots, named by its handle.
int VirtualKfd::take_event_page(uint64_t handle) {
  if (process_.events.has_page()) return -EINVAL;
  int failure = 0;
  ProcessDevice* device = bound_device(handle_gpu_id(handle), -ENODEV, failure);
  if (device == nullptr) return failure;
  KfdAllocation* allocation = device->allocations.find(handle_id(handle));
  if (allocation == nullptr || allocation->object->is_user_memory()) return -EINVAL;
  process_.events.set_page(reinterpret_cast<uint64_t*>(allocation->object->host()),
                           allocation->object->size());
  process_.event_page_handle = handle;
  return 0;
}

int VirtualKfd::create_event(kfd_ioctl_create_event_args& args) {
  if (args.event_page_offset != 0) {
    if (const int failure = take_event_page(args.event_page_offset)) return failure;
  }
  args.event_page_offset = 0;
  const bool slot = EventTable::has_slot(args.event_type);
  if (slot && !process_.events.has_page()) {
    auto page = PageMapping::create(kfd_fd_, kfd_mmap_offset(KfdMmapType::Events),
                                    kfd::abi::kEventPageBytes);
    if (!page) return -ENOMEM;
    process_.event_page = std::move(*page);
    process_.events.set_page(reinterpret_cast<uint64_t*>(process_.event_page.data()),
                             kfd::abi::kEventPageBytes);
  }
  uint32_t id = 0;
  if (const int failure = process_.events.create(args.event_type, args.auto_reset != 0, id))
    return failure;
  args.event_id = id;
  args.event_trigger_data = id;
  if (slot) {
    args.event_slot_index = id;
    args.event_page_offset = kfd_mmap_offset(KfdMmapType::Events);
  }
  return 0;
}

int VirtualKfd::destroy_event(kfd_ioctl_destroy_event_args& args) {
  const int result = process_.events.destroy(args.event_id);
  progress_.notify();
  return result;
}

int VirtualKfd::set_event(kfd_ioctl_set_event_args& args) {
  const int result = process_.events.set(args.event_id);
  progress_.notify();
  return result;
}

int VirtualKfd::reset_event(kfd_ioctl_reset_event_args& args) {
  return process_.events.reset(args.event_id);
}

/// Sleeps until the wait is over one way or another: 0 and a KFD_IOC_WAIT_RESULT_*, or -errno.
int VirtualKfd::wait_for(EventTable::Wait& wait, uint32_t timeout_ms, uint32_t& result) {
  const uint64_t deadline = timeout_ms == kfd::abi::kTimeoutInfinite
                                ? kForever
                                : progress_.now_ns() + timeout_ms * kNanosecondsPerMillisecond;
  uint64_t generation = process_.events.generation();
  const auto changed = [&] { return process_.events.generation() != generation; };
  while (true) {
    result = wait.result();
    if (result != KFD_IOC_WAIT_RESULT_TIMEOUT) return 0;
    generation = process_.events.generation();
    const WaitOutcome outcome = timeout_ms == kfd::abi::kTimeoutImmediate
                                    ? WaitOutcome::DeadlinePassed
                                    : progress_.wait(deadline, changed);
    if (outcome == WaitOutcome::LookAgain) continue;
    result = wait.result();
    if (result != KFD_IOC_WAIT_RESULT_TIMEOUT) return 0;
    return outcome == WaitOutcome::Deadlock ? -EDEADLK : 0;
  }
}

int VirtualKfd::wait_events(kfd_ioctl_wait_events_args& args) {
  args.wait_result = KFD_IOC_WAIT_RESULT_FAIL;
  if (args.num_events > kMostEventsPerWait) return -ENOMEM;
  std::vector<kfd_event_data> data(args.num_events);
  if (!copy_from_user(data.data(), args.events_ptr, data.size() * sizeof data[0])) return -EFAULT;
  EventTable::Wait wait(process_.events, args.wait_for_all != 0);
  if (const int failure = wait.add(data)) return failure;
  uint32_t result = KFD_IOC_WAIT_RESULT_FAIL;
  if (const int failure = wait_for(wait, args.timeout, result)) return failure;
  if (result == KFD_IOC_WAIT_RESULT_FAIL) return -EIO;
  if (result == KFD_IOC_WAIT_RESULT_COMPLETE) {
    if (const int failure = wait.collect(data)) return failure;
    if (!copy_to_user(args.events_ptr, data.data(), data.size() * sizeof data[0])) return -EFAULT;
  }
  args.wait_result = result;
  return 0;
}

void VirtualKfd::on_interrupt(uint32_t, uint32_t context_id) {
  if (machine_.faults().on_interrupt()) return;
  process_.events.on_interrupt(context_id);
  progress_.notify();
}

void VirtualKfd::on_fault(const emu::Fault& fault) {
  if (faults_.size() == kMaxFaults) faults_.pop_front();
  faults_.push_back(fault);
  ++fault_count_;
  const KfdQueue* queue = process_.queues.find(fault.queue);
  if (emu::Fault& kept = faults_.back(); kept.wave && queue != nullptr)
    kept.wave->kernel = function_name(*queue->hardware.vm, kept.wave->pc);
  const uint32_t gpu_id = machine_.gpus()[fault.gpu].gpu_id();
  if (is_memory_fault(fault)) {
    const bool mapped = fault.kind == emu::FaultKind::PermissionDenied;
    kfd_hsa_memory_exception_data data{};
    data.failure.NotPresent = mapped ? 0 : 1;
    data.failure.ReadOnly = mapped && fault.is_write ? 1 : 0;
    data.failure.NoExecute = mapped && !fault.is_write ? 1 : 0;
    data.va = fault.address.value_or(0) / kPageBytes * kPageBytes;
    data.gpu_id = gpu_id;
    process_.events.raise_memory_exception(data);
    report_smi_vm_fault(fault.gpu);
  } else {
    // A queue that hangs ends in a reset of the GPU, and that is what the client hears of, unless
    // the queue has a signal of its own for such errors.
    if (queue == nullptr || !reports_errors_itself(*queue)) {
      kfd_hsa_hw_exception_data data{};
      data.reset_type = KFD_HW_EXCEPTION_WHOLE_GPU_RESET;
      data.reset_cause = KFD_HW_EXCEPTION_GPU_HANG;
      data.memory_lost = 1;
      data.gpu_id = gpu_id;
      process_.events.raise_hw_exception(data);
    }
  }
  progress_.notify();
}

}  // namespace doppel::mock
