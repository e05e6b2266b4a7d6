#include "backends/mock/event_table.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace doppel::mock {

struct EventTable::Event {
  uint32_t id = 0;
  uint32_t type = 0;
  bool auto_reset = false;
  bool signaled = false;
  uint64_t age = 1;
  kfd_hsa_memory_exception_data memory_exception{};
  kfd_hsa_hw_exception_data hw_exception{};
  std::vector<Waiter*> waiters;

  bool has_sleeper() const { return std::ranges::any_of(waiters, &Waiter::queued); }
};

EventTable::EventTable() = default;
EventTable::~EventTable() = default;

bool EventTable::has_slot(uint32_t type) {
  return type == KFD_IOC_EVENT_SIGNAL || type == KFD_IOC_EVENT_DEBUG_EVENT;
}

EventTable::Event* EventTable::find(uint32_t id) {
  std::unique_ptr<Event>* event = events_.find(id);
  return event == nullptr ? nullptr : event->get();
}

bool EventTable::is_signaled(uint32_t slot) const {
  return std::atomic_ref(slots_[slot]).load(std::memory_order_acquire) !=
         kfd::abi::kUnsignaledEventSlot;
}

void EventTable::acknowledge(uint32_t slot) {
  std::atomic_ref(slots_[slot]).store(kfd::abi::kUnsignaledEventSlot, std::memory_order_release);
}

void EventTable::set_page(uint64_t* slots, uint64_t bytes) {
  slots_ = slots;
  slot_count_ = std::min<uint64_t>(bytes / sizeof(uint64_t), KFD_SIGNAL_EVENT_LIMIT);
  std::fill_n(slots_, slot_count_, kfd::abi::kUnsignaledEventSlot);
}

int EventTable::create(uint32_t type, bool auto_reset, uint32_t& id) {
  const bool slot = has_slot(type);
  if (slot && signal_count_ >= slot_count_) return -ENOSPC;
  const std::optional<uint32_t> free =
      slot ? events_.emplace(1, slot_count_, std::make_unique<Event>())
           : events_.emplace(kFirstNonSignalEventId, uint64_t{INT32_MAX} + 1,
                             std::make_unique<Event>());
  if (!free) return -ENOSPC;
  Event& event = *find(*free);
  event.id = id = *free;
  event.type = type;
  event.auto_reset = auto_reset;
  if (slot) {
    acknowledge(id);
    ++signal_count_;
  }
  return 0;
}

int EventTable::destroy(uint32_t id) {
  Event* event = find(id);
  if (event == nullptr) return -EINVAL;
  for (Waiter* waiter : event->waiters) waiter->event = nullptr;
  if (has_slot(event->type)) --signal_count_;
  events_.erase(id);
  ++generation_;
  return 0;
}

void EventTable::activate(Event& event) {
  event.signaled = !event.auto_reset || !event.has_sleeper();
  ++event.age;
  for (Waiter* waiter : event.waiters) {
    if (waiter->queued) waiter->activated = true;
    waiter->queued = false;
  }
  ++generation_;
}

int EventTable::set(uint32_t id) {
  Event* event = find(id);
  if (event == nullptr || event->type != KFD_IOC_EVENT_SIGNAL) return -EINVAL;
  activate(*event);
  return 0;
}

int EventTable::reset(uint32_t id) {
  Event* event = find(id);
  if (event == nullptr || event->type != KFD_IOC_EVENT_SIGNAL) return -EINVAL;
  event->signaled = false;
  return 0;
}

void EventTable::set_from_interrupt(uint32_t id) {
  Event* event = find(id);
  if (event == nullptr || !has_slot(event->type)) return;
  acknowledge(id);
  activate(*event);
}

void EventTable::on_interrupt(uint32_t id) {
  if (slots_ == nullptr) return;
  if (id < slot_count_ && is_signaled(id) && find(id) != nullptr) {
    set_from_interrupt(id);
    return;
  }
  // The payload named no event that was signalled: look at all of them.
  std::vector<uint32_t> signaled;
  for (const auto& [candidate, event] : events_)
    if (candidate < slot_count_ && is_signaled(candidate)) signaled.push_back(candidate);
  for (uint32_t candidate : signaled) set_from_interrupt(candidate);
}

void EventTable::raise_memory_exception(const kfd_hsa_memory_exception_data& data) {
  for (auto& [id, event] : events_) {
    if (event->type != KFD_IOC_EVENT_MEMORY) continue;
    event->memory_exception = data;
    activate(*event);
  }
}

void EventTable::raise_hw_exception(const kfd_hsa_hw_exception_data& data) {
  for (auto& [id, event] : events_) {
    if (event->type != KFD_IOC_EVENT_HW_EXCEPTION) continue;
    event->hw_exception = data;
    activate(*event);
  }
}

EventTable::Wait::~Wait() {
  for (Waiter& waiter : waiters_)
    if (waiter.event != nullptr) std::erase(waiter.event->waiters, &waiter);
}

int EventTable::Wait::add(std::span<const kfd_event_data> events) {
  for (const kfd_event_data& data : events) {
    Event* event = table_.find(data.event_id);
    if (event == nullptr) return -EINVAL;
    Waiter& waiter = waiters_.emplace_back();
    waiter.event = event;
    waiter.activated = event->signaled;
    event->signaled = event->signaled && !event->auto_reset;
    kfd::abi::SignalEventData signal{};
    std::memcpy(&signal, &data, sizeof signal);
    if (event->type == KFD_IOC_EVENT_SIGNAL && signal.last_event_age != 0) {
      waiter.wants_age = true;
      if (event->age != signal.last_event_age) waiter.activated = true;
    }
    waiter.queued = !waiter.activated;
    event->waiters.push_back(&waiter);
  }
  return 0;
}

uint32_t EventTable::Wait::result() const {
  size_t activated = 0;
  for (const Waiter& waiter : waiters_) {
    if (waiter.event == nullptr) return KFD_IOC_WAIT_RESULT_FAIL;
    if (!waiter.activated) continue;
    if (!all_) return KFD_IOC_WAIT_RESULT_COMPLETE;
    ++activated;
  }
  return activated == waiters_.size() ? KFD_IOC_WAIT_RESULT_COMPLETE : KFD_IOC_WAIT_RESULT_TIMEOUT;
}

int EventTable::Wait::collect(std::span<kfd_event_data> events) const {
  size_t index = 0;
  for (const Waiter& waiter : waiters_) {
    kfd_event_data& data = events[index++];
    if (waiter.event == nullptr) return -EINVAL;
    if (!waiter.activated) continue;
    const Event& event = *waiter.event;
    if (event.type == KFD_IOC_EVENT_MEMORY) data.memory_exception_data = event.memory_exception;
    if (event.type == KFD_IOC_EVENT_HW_EXCEPTION) data.hw_exception_data = event.hw_exception;
    if (waiter.wants_age) {
      const kfd::abi::SignalEventData age{event.age};
      std::memcpy(&data, &age, sizeof age);
    }
  }
  return 0;
}

}  // namespace doppel::mock
