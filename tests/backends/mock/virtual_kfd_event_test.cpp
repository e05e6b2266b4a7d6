// Event ioctls: life, waiting any and all, auto-reset, ages, timeouts on the virtual clock,
// interrupts through the signal page, exceptions.
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/backends/mock/kernel_fixture.h"

namespace doppel::mock::testing {
namespace {

constexpr uint32_t kComplete = KFD_IOC_WAIT_RESULT_COMPLETE;
constexpr uint32_t kTimeout = KFD_IOC_WAIT_RESULT_TIMEOUT;
constexpr uint64_t kMillisecond = 1'000'000;

class VirtualKfdEvents : public ::testing::Test {
 protected:
  void SetUp() override {
    client.acquire_all();
    kfd_ioctl_alloc_memory_of_gpu_args page;
    ASSERT_EQ(client.allocate(kVaBase, kfd::abi::kEventPageBytes, kGtt, page), 0);
    page_handle = page.handle;
    int os_error = 0;
    slots = static_cast<uint64_t*>(
        client.kernel->mmap(nullptr, kfd::abi::kEventPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                            client.render[0], page.mmap_offset, &os_error));
    ASSERT_NE(slots, nullptr);
  }
  void TearDown() override { client.kernel->munmap(slots, kfd::abi::kEventPageBytes); }

  uint32_t signal(bool auto_reset = true) {
    uint32_t id = 0;
    const uint64_t page = std::exchange(first_page, 0);
    EXPECT_EQ(client.create_event(KFD_IOC_EVENT_SIGNAL, auto_reset, id, page ? page_handle : 0), 0);
    return id;
  }
  uint32_t wait(uint32_t id, uint32_t timeout_ms = 0) {
    uint32_t result = 99;
    EXPECT_EQ(client.wait(id, timeout_ms, result), 0);
    return result;
  }
  void interrupt(uint32_t context) {
    const_cast<VirtualKfd&>(client.kernel->kfd()).on_interrupt(0, context);
  }

  Client client;
  uint64_t page_handle = 0;
  uint64_t* slots = nullptr;
  uint64_t first_page = 1;
};

TEST_F(VirtualKfdEvents, SignalEventsAreSlotsOfTheClientsPage) {
  kfd_ioctl_create_event_args args{};
  args.event_page_offset = page_handle;
  ASSERT_EQ(client.call(AMDKFD_IOC_CREATE_EVENT, args), 0);
  EXPECT_EQ(args.event_id, 1u);
  EXPECT_EQ(args.event_slot_index, args.event_id);
  EXPECT_EQ(args.event_trigger_data, args.event_id);
  EXPECT_NE(args.event_page_offset, 0u) << "else clients use no mailbox";
  for (uint32_t slot = 0; slot < KFD_SIGNAL_EVENT_LIMIT; ++slot)
    ASSERT_EQ(slots[slot], kfd::abi::kUnsignaledEventSlot);
  args.event_page_offset = page_handle;
  EXPECT_EQ(client.call(AMDKFD_IOC_CREATE_EVENT, args), -EINVAL) << "the page is set once";
  EXPECT_EQ(client.free(page_handle), -EPERM) << "the driver keeps the page";
}

TEST_F(VirtualKfdEvents, ThePageMustBeMemoryOfTheDriver) {
  void* memory = mmap(nullptr, 32768, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  kfd_ioctl_alloc_memory_of_gpu_args user;
  ASSERT_EQ(client.allocate(kVaBase + (1 << 20), 32768, kUserptr, user, 0,
                            reinterpret_cast<uint64_t>(memory)),
            0);
  uint32_t id = 0;
  EXPECT_EQ(client.create_event(KFD_IOC_EVENT_SIGNAL, true, id, user.handle), -EINVAL);
  EXPECT_EQ(client.create_event(KFD_IOC_EVENT_SIGNAL, true, id, 12345), -EINVAL);
  munmap(memory, 32768);
}

TEST_F(VirtualKfdEvents, WithoutOneTheDriverHasAPageOfItsOwn) {
  kfd_ioctl_create_event_args args{};
  ASSERT_EQ(client.call(AMDKFD_IOC_CREATE_EVENT, args), 0);
  int os_error = 0;
  auto* own = static_cast<uint64_t*>(
      client.kernel->mmap(nullptr, kfd::abi::kEventPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                          client.kfd, args.event_page_offset, &os_error));
  ASSERT_NE(own, nullptr) << os_error;
  own[args.event_id] = args.event_id;
  interrupt(args.event_id);
  EXPECT_EQ(wait(args.event_id), kComplete);
  EXPECT_EQ(own[args.event_id], kfd::abi::kUnsignaledEventSlot) << "acknowledged";
  client.kernel->munmap(own, kfd::abi::kEventPageBytes);
}

TEST_F(VirtualKfdEvents, AutoResetLetsOneLaterWaiterPass) {
  const uint32_t automatic = signal(true);
  const uint32_t manual = signal(false);
  EXPECT_EQ(wait(automatic), kTimeout);
  ASSERT_EQ(client.set_event(automatic), 0);
  ASSERT_EQ(client.set_event(manual), 0);
  EXPECT_EQ(wait(automatic), kComplete);
  EXPECT_EQ(wait(automatic), kTimeout);
  EXPECT_EQ(wait(manual), kComplete);
  EXPECT_EQ(wait(manual), kComplete);
  kfd_ioctl_reset_event_args reset{.event_id = manual, .pad = 0};
  ASSERT_EQ(client.call(AMDKFD_IOC_RESET_EVENT, reset), 0);
  EXPECT_EQ(wait(manual), kTimeout);
}

TEST_F(VirtualKfdEvents, AnyAndAll) {
  const uint32_t first = signal(false);
  const uint32_t second = signal(false);
  std::vector<kfd_event_data> events(2);
  events[0].event_id = first;
  events[1].event_id = second;
  uint32_t result = 99;
  ASSERT_EQ(client.set_event(second), 0);
  EXPECT_EQ(client.wait(events, false, 0, result), 0);
  EXPECT_EQ(result, kComplete);
  EXPECT_EQ(client.wait(events, true, 0, result), 0);
  EXPECT_EQ(result, kTimeout);
  ASSERT_EQ(client.set_event(first), 0);
  EXPECT_EQ(client.wait(events, true, 0, result), 0);
  EXPECT_EQ(result, kComplete);
}

TEST_F(VirtualKfdEvents, TimeoutsPassOnTheVirtualClock) {
  const uint32_t id = signal();
  const uint64_t before = client.kernel->now_ns();
  EXPECT_EQ(wait(id, 25), kTimeout);
  EXPECT_EQ(client.kernel->now_ns() - before, 25 * kMillisecond);
  EXPECT_EQ(wait(id, 0), kTimeout);
  EXPECT_EQ(client.kernel->now_ns() - before, 25 * kMillisecond);
}

TEST_F(VirtualKfdEvents, WaitingForEverForNothingIsADeadlock) {
  uint32_t result = 99;
  EXPECT_EQ(client.wait(signal(), kfd::abi::kTimeoutInfinite, result), -EDEADLK);
  EXPECT_EQ(result, uint32_t{KFD_IOC_WAIT_RESULT_FAIL});
}

TEST_F(VirtualKfdEvents, AgesTellOfSignalsBetweenWaits) {
  const uint32_t id = signal(true);
  std::vector<kfd_event_data> events(1);
  events[0].event_id = id;
  const auto wait_with_age = [&](uint64_t age, uint64_t& out) {
    std::memcpy(&events[0], &age, sizeof age);
    uint32_t result = 99;
    EXPECT_EQ(client.wait(events, false, 0, result), 0);
    std::memcpy(&out, &events[0], sizeof out);
    return result;
  };
  uint64_t age = 0;
  EXPECT_EQ(wait_with_age(1, age), kTimeout) << "events are born with age 1";
  ASSERT_EQ(client.set_event(id), 0);
  EXPECT_EQ(wait(id), kComplete) << "somebody else takes the signal";
  EXPECT_EQ(wait_with_age(1, age), kComplete) << "and it is still noticed";
  EXPECT_EQ(age, 2u);
  EXPECT_EQ(wait_with_age(2, age), kTimeout);
}

TEST_F(VirtualKfdEvents, InterruptsNeedAWrittenSlot) {
  const uint32_t id = signal();
  interrupt(id);
  EXPECT_EQ(wait(id), kTimeout) << "nobody wrote the slot";
  slots[id] = id;
  interrupt(id);
  EXPECT_EQ(wait(id), kComplete);
  EXPECT_EQ(slots[id], kfd::abi::kUnsignaledEventSlot);
}

TEST_F(VirtualKfdEvents, AWrongContextIdStillFindsWrittenSlots) {
  const uint32_t first = signal();
  const uint32_t second = signal();
  const uint32_t third = signal();
  slots[first] = slots[third] = 1;
  interrupt(4000);
  EXPECT_EQ(wait(first), kComplete);
  EXPECT_EQ(wait(second), kTimeout);
  EXPECT_EQ(wait(third), kComplete);
  interrupt(0xffffffff);
}

TEST_F(VirtualKfdEvents, ThreadsWaitWhileOthersSignal) {
  const uint32_t id = signal(false);
  std::thread waiter([&] {
    // Virtual deadlines pass at once when nothing runs, so ask again until the signal came.
    uint32_t result = kTimeout;
    while (result == kTimeout) EXPECT_EQ(client.wait(id, 1, result), 0);
    EXPECT_EQ(result, kComplete);
  });
  ASSERT_EQ(client.set_event(id), 0);
  waiter.join();
}

class EventTableTest : public ::testing::Test {
 protected:
  EventTableTest() { table.set_page(page.data(), sizeof page); }
  uint32_t signal(bool auto_reset) {
    uint32_t id = 0;
    EXPECT_EQ(table.create(KFD_IOC_EVENT_SIGNAL, auto_reset, id), 0);
    return id;
  }
  std::vector<kfd_event_data> data(std::initializer_list<uint32_t> ids) {
    std::vector<kfd_event_data> events(ids.size());
    size_t i = 0;
    for (uint32_t id : ids) events[i++].event_id = id;
    return events;
  }
  std::array<uint64_t, KFD_SIGNAL_EVENT_LIMIT> page{};
  EventTable table;
};

TEST_F(EventTableTest, OneSignalWakesEverySleeperOfAnAutoResetEvent) {
  const uint32_t id = signal(true);
  EventTable::Wait first(table, false);
  EventTable::Wait second(table, false);
  ASSERT_EQ(first.add(data({id})), 0);
  ASSERT_EQ(second.add(data({id})), 0);
  ASSERT_EQ(table.set(id), 0);
  EXPECT_EQ(first.result(), kComplete);
  EXPECT_EQ(second.result(), kComplete);
  EventTable::Wait late(table, false);
  ASSERT_EQ(late.add(data({id})), 0);
  EXPECT_EQ(late.result(), kTimeout) << "the sleepers have consumed the signal";
}

TEST_F(EventTableTest, ASignalWithoutSleepersStays) {
  const uint32_t id = signal(true);
  {
    EventTable::Wait gone(table, false);
    ASSERT_EQ(gone.add(data({id})), 0);
  }
  ASSERT_EQ(table.set(id), 0);
  EventTable::Wait late(table, false);
  ASSERT_EQ(late.add(data({id})), 0);
  EXPECT_EQ(late.result(), kComplete);
}

TEST_F(EventTableTest, DestroyingAnEventFailsItsWaits) {
  const uint32_t id = signal(true);
  const uint32_t other = signal(false);
  EventTable::Wait wait(table, false);
  auto events = data({other, id});
  ASSERT_EQ(wait.add(events), 0);
  ASSERT_EQ(table.destroy(id), 0);
  EXPECT_EQ(wait.result(), uint32_t{KFD_IOC_WAIT_RESULT_FAIL});
  EXPECT_EQ(wait.collect(events), -EINVAL);
  ASSERT_EQ(table.set(other), 0) << "the table does not remember the wait's dead event";
}

TEST_F(EventTableTest, DestroyedIdsAreUsedAgain) {
  const uint32_t first = signal(true);
  const uint32_t second = signal(true);
  ASSERT_EQ(table.destroy(first), 0);
  EXPECT_EQ(signal(true), first);
  EXPECT_EQ(signal(true), second + 1);
}

TEST_F(VirtualKfdEvents, WrongIdsAndTypes) {
  uint32_t result = 0;
  EXPECT_EQ(client.wait(77, 0, result), -EINVAL);
  EXPECT_EQ(client.set_event(77), -EINVAL);
  kfd_ioctl_destroy_event_args destroy{.event_id = 77, .pad = 0};
  EXPECT_EQ(client.call(AMDKFD_IOC_DESTROY_EVENT, destroy), -EINVAL);
  uint32_t memory = 0;
  ASSERT_EQ(client.create_event(KFD_IOC_EVENT_MEMORY, false, memory), 0);
  EXPECT_GE(memory, kFirstNonSignalEventId);
  EXPECT_EQ(client.set_event(memory), -EINVAL) << "only signals are the client's to set";
  destroy.event_id = memory;
  EXPECT_EQ(client.call(AMDKFD_IOC_DESTROY_EVENT, destroy), 0);
  EXPECT_EQ(client.call(AMDKFD_IOC_DESTROY_EVENT, destroy), -EINVAL);
  EXPECT_EQ(client.kernel->usage().events, 0u);
}

TEST_F(VirtualKfdEvents, WaitsWithoutEventsAndWithBadPointers) {
  kfd_ioctl_wait_events_args args{
      .events_ptr = 0, .num_events = 1, .wait_for_all = 0, .timeout = 0, .wait_result = 0};
  EXPECT_EQ(client.call(AMDKFD_IOC_WAIT_EVENTS, args), -EFAULT);
  args.num_events = 0xffffffff;
  EXPECT_EQ(client.call(AMDKFD_IOC_WAIT_EVENTS, args), -ENOMEM);
  args.num_events = 0;
  EXPECT_EQ(client.call(AMDKFD_IOC_WAIT_EVENTS, args), 0);
  EXPECT_EQ(args.wait_result, kComplete) << "none of none is missing";
}

TEST_F(VirtualKfdEvents, SlotsRunOut) {
  for (uint32_t i = 1; i < KFD_SIGNAL_EVENT_LIMIT; ++i) ASSERT_NE(signal(), 0u);
  uint32_t id = 0;
  EXPECT_EQ(client.create_event(KFD_IOC_EVENT_SIGNAL, true, id), -ENOSPC);
}

TEST_F(VirtualKfdEvents, MemoryFaultsCarryAddressAndReason) {
  uint32_t id = 0;
  ASSERT_EQ(client.create_event(KFD_IOC_EVENT_MEMORY, false, id), 0);
  emu::Fault fault;
  fault.kind = emu::FaultKind::PermissionDenied;
  fault.address = 0x7000'1234'5678;
  fault.is_write = true;
  const_cast<VirtualKfd&>(client.kernel->kfd()).on_fault(fault);
  std::vector<kfd_event_data> events(1);
  events[0].event_id = id;
  uint32_t result = 99;
  ASSERT_EQ(client.wait(events, false, 0, result), 0);
  EXPECT_EQ(result, kComplete);
  const kfd_hsa_memory_exception_data& data = events[0].memory_exception_data;
  EXPECT_EQ(data.va, 0x7000'1234'5000u) << "the page";
  EXPECT_EQ(data.gpu_id, client.gpu());
  EXPECT_EQ(data.failure.NotPresent, 0u);
  EXPECT_EQ(data.failure.ReadOnly, 1u);
  EXPECT_EQ(data.failure.NoExecute, 0u);
  EXPECT_EQ(client.kernel->faults().size(), 1u);
}

TEST_F(VirtualKfdEvents, OtherFaultsAreReportedAsAHang) {
  uint32_t id = 0;
  ASSERT_EQ(client.create_event(KFD_IOC_EVENT_HW_EXCEPTION, false, id), 0);
  emu::Fault fault;
  fault.kind = emu::FaultKind::BadPacket;
  const_cast<VirtualKfd&>(client.kernel->kfd()).on_fault(fault);
  std::vector<kfd_event_data> events(1);
  events[0].event_id = id;
  uint32_t result = 99;
  ASSERT_EQ(client.wait(events, false, 0, result), 0);
  EXPECT_EQ(result, kComplete);
  EXPECT_EQ(events[0].hw_exception_data.gpu_id, client.gpu());
  EXPECT_EQ(events[0].hw_exception_data.reset_cause, uint32_t{KFD_HW_EXCEPTION_GPU_HANG});
}

TEST_F(VirtualKfdEvents, SmiReadersHearOfFaultsTheyAskFor) {
  kfd_ioctl_smi_events_args args{.gpuid = client.gpu(), .anon_fd = 0};
  ASSERT_EQ(client.call(AMDKFD_IOC_SMI_EVENTS, args), 0);
  const int fd = static_cast<int>(args.anon_fd);
  emu::Fault fault;
  fault.kind = emu::FaultKind::UnmappedAccess;
  const auto raise = [&] { const_cast<VirtualKfd&>(client.kernel->kfd()).on_fault(fault); };
  raise();
  char line[64] = {};
  EXPECT_LT(read(fd, line, sizeof line), 0) << "nothing asked for yet";
  const uint64_t mask = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_VMFAULT);
  ASSERT_EQ(write(fd, &mask, sizeof mask), static_cast<ssize_t>(sizeof mask));
  raise();
  ASSERT_GT(read(fd, line, sizeof line), 0);
  EXPECT_EQ(line[0], '1');
  close(fd);
  raise();
  args.gpuid = 5;
  EXPECT_EQ(client.call(AMDKFD_IOC_SMI_EVENTS, args), -EINVAL);
}

}  // namespace
}  // namespace doppel::mock::testing
