#include "backends/kfd/kfd_event.h"

#include <fmt/format.h>

#include "core/kernel_args.h"

namespace doppel::kfd {
namespace {

std::string memory_exception_text(const kfd_hsa_memory_exception_data& data) {
  std::string cause;
  const auto add = [&cause](bool set, std::string_view text) {
    if (set) cause += cause.empty() ? std::string(text) : fmt::format(", {}", text);
  };
  add(data.failure.NotPresent != 0, "page not present");
  add(data.failure.ReadOnly != 0, "page read-only");
  add(data.failure.NoExecute != 0, "page not executable");
  add(data.failure.imprecise != 0, "address imprecise");
  add(data.ErrorType != KFD_MEM_ERR_NO_RAS, fmt::format("RAS error {}", data.ErrorType));
  if (cause.empty()) cause = "no cause given";
  std::string text =
      fmt::format("GPU {} faults at address {:#x} ({}).", data.gpu_id, data.va, cause);
  if (const std::string_view service = describe_hidden_guard(data.va); !service.empty()) {
    text += fmt::format(
        " A kernel that uses the hidden argument {} faults there: this runtime does not offer that "
        "service.",
        service);
  }
  return text;
}

std::string hardware_exception_text(const kfd_hsa_hw_exception_data& data) {
  return fmt::format(
      "GPU {} {} ({}{}).", data.gpu_id,
      data.reset_cause == KFD_HW_EXCEPTION_ECC ? "has an uncorrectable memory error"
                                               : "hangs or stops a queue",
      data.reset_type == KFD_HW_EXCEPTION_WHOLE_GPU_RESET ? "whole GPU reset" : "engine reset",
      data.memory_lost != 0 ? ", memory lost" : "");
}

}  // namespace

KfdEvents::~KfdEvents() {
  for (uint32_t id : created_) {
    kfd_ioctl_destroy_event_args args{};
    args.event_id = id;
    (void)driver_->call(AMDKFD_IOC_DESTROY_EVENT, args, "destroy an event");
  }
}

Result<> KfdEvents::attach(KfdMemory& memory) {
  const std::scoped_lock lock(mutex_);
  if (page_) {
    return memory.map(static_cast<const KfdAllocation&>(*page_.state()));
  }
  DOPPEL_ASSIGN(page_, memory.allocate(abi::kEventPageBytes, {.domain = MemoryDomain::Gtt,
                                                              .cpu_visible = true,
                                                              .coherent = true,
                                                              .uncached = true}));
  DOPPEL_ASSIGN(memory_exception_, create(KFD_IOC_EVENT_MEMORY, nullptr));
  DOPPEL_ASSIGN(hardware_exception_, create(KFD_IOC_EVENT_HW_EXCEPTION, nullptr));
  return {};
}

Result<uint32_t> KfdEvents::create(uint32_t type, uint32_t* slot) {
  kfd_ioctl_create_event_args args{};
  args.event_type = type;
  args.auto_reset = 1;
  // The first event tells the driver which memory its page is.
  if (!page_announced_) {
    args.event_page_offset = static_cast<const KfdAllocation*>(page_.state())->handle();
  }
  DOPPEL_TRY(driver_->call(AMDKFD_IOC_CREATE_EVENT, args, "create an event"));
  page_announced_ = true;
  created_.push_back(args.event_id);
  if (slot != nullptr) *slot = args.event_slot_index;
  return args.event_id;
}

Result<SignalEvent> KfdEvents::signal_event() {
  const std::scoped_lock lock(mutex_);
  if (shared_.size() < kSharedEvents) {
    uint32_t slot = 0;
    DOPPEL_ASSIGN(const uint32_t id, create(KFD_IOC_EVENT_SIGNAL, &slot));
    if (slot >= KFD_SIGNAL_EVENT_LIMIT) {
      return error(StatusCode::System,
                   fmt::format("The driver gives an event a slot ({}) outside of its page.", slot));
    }
    shared_.push_back({id, page_.gpu_address() + slot * sizeof(uint64_t)});
    return shared_.back();
  }
  return shared_[next_shared_++ % shared_.size()];
}

Result<bool> KfdEvents::wait(uint32_t event_id, uint32_t timeout_ms) {
  std::array<kfd_event_data, 3> events{};
  uint32_t count = 0;
  events[count++].event_id = memory_exception_;
  events[count++].event_id = hardware_exception_;
  if (event_id != 0) events[count++].event_id = event_id;

  kfd_ioctl_wait_events_args args{};
  args.events_ptr = reinterpret_cast<uint64_t>(events.data());
  args.num_events = count;
  args.wait_for_all = 0;
  args.timeout = timeout_ms;
  DOPPEL_TRY(driver_->call(AMDKFD_IOC_WAIT_EVENTS, args, "wait for events"));
  if (args.wait_result == KFD_IOC_WAIT_RESULT_TIMEOUT) return false;
  if (args.wait_result == KFD_IOC_WAIT_RESULT_FAIL) {
    return error(StatusCode::System, "The driver fails a wait for events (WAIT_EVENTS).");
  }
  // The driver fills the data of the exceptions that fired; a GPU id marks them.
  if (const auto& data = events[0].memory_exception_data; data.gpu_id != 0) {
    report({data.gpu_id, data.va, memory_exception_text(data)});
  }
  if (const auto& data = events[1].hw_exception_data; data.gpu_id != 0) {
    report({data.gpu_id, 0, hardware_exception_text(data)});
  }
  return true;
}

void KfdEvents::report(ExceptionReport report) {
  const std::scoped_lock lock(mutex_);
  exceptions_.push_back(std::move(report));
}

Result<> KfdEvents::forget_exceptions() {
  DOPPEL_TRY(wait(0, abi::kTimeoutImmediate));
  const std::scoped_lock lock(mutex_);
  exceptions_.clear();
  return {};
}

std::vector<ExceptionReport> KfdEvents::exceptions() const {
  const std::scoped_lock lock(mutex_);
  return exceptions_;
}

}  // namespace doppel::kfd
