// EventTable: the KFD events of a process: ids, the page of signal slots, waiters and exceptions.
// Semantics: Linux drivers/gpu/drm/amd/amdkfd/kfd_events.c, in particular: setting an event
// completes every wait that is under way, auto-reset or not; auto-reset only decides whether the
// event stays set for later waiters.
//
// Belongs to the driver's lock. Functions return 0 or -errno.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "backends/kfd/kfd_abi.h"
#include "backends/mock/id_table.h"

namespace doppel::mock {

/// Ids of events that are no signals begin here; below are slots of the signal page.
inline constexpr uint32_t kFirstNonSignalEventId = (INT32_MAX >> 1) + 1;

class EventTable {
 public:
  struct Event;

  /// One event of a wait under way.
  struct Waiter {
    Event* event = nullptr;  // nullptr: destroyed meanwhile
    bool activated = false;
    bool queued = false;  // asleep on the event: not activated when the wait began, nor since
    bool wants_age = false;
  };

  /// The state of a wait for several events: registered while it lives.
  class Wait {
   public:
    Wait(EventTable& table, bool all) : table_(table), all_(all) {}
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    /// Takes up the events; -EINVAL for an unknown id.
    int add(std::span<const kfd_event_data> events);
    /// KFD_IOC_WAIT_RESULT_*.
    uint32_t result() const;
    /// Fills in exception data and ages of events that were set; -EINVAL if one was destroyed.
    int collect(std::span<kfd_event_data> events) const;

   private:
    EventTable& table_;
    bool all_;
    std::list<Waiter> waiters_;  // addresses are registered with the events
  };

  EventTable();
  ~EventTable();

  bool has_page() const { return slots_ != nullptr; }
  /// Takes the signal page, cleared to unsignalled.
  void set_page(uint64_t* slots, uint64_t bytes);

  /// SIGNAL and DEBUG events need a page. -ENOSPC when its slots are used up.
  int create(uint32_t type, bool auto_reset, uint32_t& id);
  int destroy(uint32_t id);
  int set(uint32_t id);
  int reset(uint32_t id);
  static bool has_slot(uint32_t type);

  /// An interrupt with `id` arrived: sets that event if its slot was written, else every event
  /// whose slot was.
  void on_interrupt(uint32_t id);
  void raise_memory_exception(const kfd_hsa_memory_exception_data& data);
  void raise_hw_exception(const kfd_hsa_hw_exception_data& data);

  size_t size() const { return events_.size(); }
  /// Changes whenever an event is set or destroyed: cheap test for "look again".
  uint64_t generation() const { return generation_; }

 private:
  bool is_signaled(uint32_t slot) const;
  void acknowledge(uint32_t slot);
  void activate(Event& event);
  void set_from_interrupt(uint32_t id);
  Event* find(uint32_t id);

  IdTable<std::unique_ptr<Event>> events_;
  uint64_t* slots_ = nullptr;
  uint64_t slot_count_ = 0;
  uint64_t signal_count_ = 1;  // id 0 is reserved
  uint64_t generation_ = 0;
};

}  // namespace doppel::mock
