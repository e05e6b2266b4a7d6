// A client's view of the whole device: memory, queues and events through the driver, packets as
// dwords that real clients write, doorbells and rings as memory.
#include <array>
#include <cerrno>
#include <cstring>

#include "tests/backends/mock/kernel_fixture.h"

namespace doppel::mock::testing {
namespace {

constexpr uint64_t kRingVa = kVaBase;
constexpr uint64_t kRingBytes = 65536;
constexpr uint64_t kPointersVa = kVaBase + (1 << 20);
constexpr uint64_t kPageVa = kVaBase + (2 << 20);  // event page
constexpr uint64_t kDataVa = kVaBase + (4 << 20);
constexpr uint64_t kDataBytes = 65536;

uint32_t low(uint64_t value) {
  return static_cast<uint32_t>(value);
}
uint32_t high(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}

/// One GPU's part of the client: a ring of each kind would be alike, so there is one.
class Queue {
 public:
  Queue(Client& client, size_t gpu, uint32_t type, bool sdma)
      : client_(client), gpu_(gpu), bytes_per_unit_(sdma ? 1 : 4) {
    const uint64_t offset = gpu << 32;
    ring_ = map(kRingVa + offset, kRingBytes);
    pointers_ = reinterpret_cast<uint64_t*>(map(kPointersVa + offset, 4096));
    kfd_ioctl_create_queue_args args{};
    args.ring_base_address = kRingVa + offset;
    args.ring_size = kRingBytes;
    args.write_pointer_address = kPointersVa + offset;
    args.read_pointer_address = kPointersVa + offset + 128;
    args.gpu_id = client.gpu(gpu);
    args.queue_type = type;
    args.queue_percentage = 100;
    args.queue_priority = 7;
    EXPECT_EQ(client.call(AMDKFD_IOC_CREATE_QUEUE, args), 0);
    id = args.queue_id;
    const uint64_t slice = args.doorbell_offset & ~uint64_t{kfd::abi::kDoorbellSliceBytes - 1};
    int os_error = 0;
    auto* doorbells = static_cast<char*>(client.kernel->mmap(nullptr, kfd::abi::kDoorbellSliceBytes,
                                                             PROT_READ | PROT_WRITE, MAP_SHARED,
                                                             client.kfd, slice, &os_error));
    EXPECT_NE(doorbells, nullptr);
    doorbell_ = reinterpret_cast<uint64_t*>(doorbells + (args.doorbell_offset - slice));
  }

  void submit(std::initializer_list<uint32_t> dwords) {
    for (uint32_t dword : dwords) {
      std::memcpy(ring_ + tail_ % kRingBytes, &dword, 4);
      tail_ += 4;
    }
    pointers_[0] = tail_ / bytes_per_unit_;
    *doorbell_ = tail_ / bytes_per_unit_;
  }
  bool drained() const { return pointers_[16] * bytes_per_unit_ == tail_; }

  uint32_t id = 0;

 private:
  char* map(uint64_t va, uint64_t size) {
    kfd_ioctl_alloc_memory_of_gpu_args args;
    EXPECT_EQ(client_.allocate(va, size, kGtt, args, gpu_), 0);
    EXPECT_EQ(client_.map(args.handle, {client_.gpu(gpu_)}), 0);
    int os_error = 0;
    return static_cast<char*>(client_.kernel->mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                                   MAP_SHARED, client_.render[gpu_],
                                                   args.mmap_offset, &os_error));
  }

  Client& client_;
  size_t gpu_;
  uint64_t bytes_per_unit_;
  char* ring_;
  uint64_t* pointers_;
  uint64_t* doorbell_;
  uint64_t tail_ = 0;
};

class VirtualDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    client.acquire_all();
    kfd_ioctl_alloc_memory_of_gpu_args page;
    ASSERT_EQ(client.allocate(kPageVa, kfd::abi::kEventPageBytes, kGtt, page), 0);
    ASSERT_EQ(client.map(page.handle, client.gpu_ids), 0);
    ASSERT_EQ(client.create_event(KFD_IOC_EVENT_SIGNAL, true, event, page.handle), 0);
    ASSERT_EQ(client.create_event(KFD_IOC_EVENT_MEMORY, false, memory_event), 0);
    ASSERT_EQ(client.create_event(KFD_IOC_EVENT_HW_EXCEPTION, false, hw_event), 0);
    kfd_ioctl_alloc_memory_of_gpu_args memory;
    ASSERT_EQ(client.allocate(kDataVa, kDataBytes, kVram, memory), 0);
    ASSERT_EQ(client.map(memory.handle, {client.gpu(0)}), 0);
    int os_error = 0;
    data = static_cast<uint32_t*>(client.kernel->mmap(nullptr, kDataBytes, PROT_READ | PROT_WRITE,
                                                      MAP_SHARED, client.render[0],
                                                      memory.mmap_offset, &os_error));
    ASSERT_NE(data, nullptr);
  }

  /// Waits for all three events; the one that came is in `events`.
  uint32_t wait(uint32_t timeout_ms = 1000) {
    events.assign(3, {});
    events[0].event_id = event;
    events[1].event_id = memory_event;
    events[2].event_id = hw_event;
    uint32_t result = 99;
    EXPECT_EQ(client.wait(events, false, timeout_ms, result), 0);
    return result;
  }
  /// FENCE to the event's slot, then TRAP: what clients append to signal an event.
  void signal_event(Queue& queue) {
    const uint64_t slot = kPageVa + 8 * uint64_t{event};
    queue.submit({0x30005, low(slot), high(slot), event, 0x6, event});
  }
  static void copy(Queue& queue, uint64_t to, uint64_t from, uint32_t bytes) {
    queue.submit({0x1, bytes - 1, 0, low(from), high(from), low(to), high(to)});
  }

  Client client{"mock:gfx1100,cu=4,vram=1GiB,count=2"};
  uint32_t event = 0;
  uint32_t memory_event = 0;
  uint32_t hw_event = 0;
  uint32_t* data = nullptr;
  std::vector<kfd_event_data> events;
};

TEST_F(VirtualDevice, SdmaCopiesAndWakesTheWaiter) {
  Queue queue(client, 0, KFD_IOC_QUEUE_TYPE_SDMA, true);
  for (uint32_t i = 0; i < 1024; ++i) data[i] = i * 7;
  copy(queue, kDataVa + 8192, kDataVa, 4096);
  signal_event(queue);
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(std::memcmp(data + 2048, data, 4096), 0);
  EXPECT_TRUE(client.kernel->faults().empty());
  while (client.kernel->relax() == kfd::Relax::Again) {
  }
  EXPECT_TRUE(queue.drained());
}

TEST_F(VirtualDevice, Pm4ReleasesMemoryAndWakesTheWaiter) {
  Queue queue(client, 0, KFD_IOC_QUEUE_TYPE_COMPUTE, false);
  const uint64_t slot = kPageVa + 8 * uint64_t{event};
  // RELEASE_MEM: end of pipe, a 32-bit value to data[0]; then the event id with an interrupt.
  queue.submit({0xc0064900, 0x0070f514, 0x20000000, low(kDataVa), high(kDataVa), 42, 0, 0});
  queue.submit({0xc0064900, 0x00000514, 0x22000000, low(slot), high(slot), event, 0, event});
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(data[0], 42u);
}

TEST_F(VirtualDevice, AWildCopyRaisesTheMemoryException) {
  Queue queue(client, 0, KFD_IOC_QUEUE_TYPE_SDMA, true);
  const uint64_t wild = kDataVa + kDataBytes + 0x5000;
  copy(queue, kDataVa, wild, 64);
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(events[1].memory_exception_data.gpu_id, client.gpu(0));
  EXPECT_EQ(events[1].memory_exception_data.va, wild / 4096 * 4096);
  EXPECT_EQ(events[1].memory_exception_data.failure.NotPresent, 1u);
  ASSERT_EQ(client.kernel->faults().size(), 1u);
  EXPECT_EQ(client.kernel->faults()[0].queue, queue.id);
  EXPECT_FALSE(client.kernel->faults()[0].nearest_allocation.empty());
}

TEST_F(VirtualDevice, AnotherGpuDoesNotReachWhatIsNotMappedThere) {
  Queue queue(client, 1, KFD_IOC_QUEUE_TYPE_SDMA, true);
  const uint64_t here = kDataVa + (uint64_t{1} << 32);
  ASSERT_NE(client.place(here, 4096, kVram, 1), 0u);
  copy(queue, here, kDataVa, 64);
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(events[1].memory_exception_data.gpu_id, client.gpu(1));
}

TEST_F(VirtualDevice, ABadPacketIsAHangForItsQueueAlone) {
  Queue bad(client, 0, KFD_IOC_QUEUE_TYPE_COMPUTE, false);
  Queue good(client, 1, KFD_IOC_QUEUE_TYPE_SDMA, true);
  bad.submit({0xc000ff00, 0});
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(events[2].hw_exception_data.gpu_id, client.gpu(0));
  kfd_ioctl_destroy_event_args destroy{.event_id = hw_event, .pad = 0};
  ASSERT_EQ(client.call(AMDKFD_IOC_DESTROY_EVENT, destroy), 0);
  ASSERT_EQ(client.create_event(KFD_IOC_EVENT_HW_EXCEPTION, false, hw_event), 0);
  signal_event(good);
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  EXPECT_EQ(events[2].hw_exception_data.gpu_id, 0u);
}

TEST_F(VirtualDevice, AWaitThatNobodyAnswersStallsAndIsExplained) {
  Queue queue(client, 0, KFD_IOC_QUEUE_TYPE_SDMA, true);
  // POLL_REGMEM: until data[0] >= 1.
  queue.submit({0xd0000008, low(kDataVa), high(kDataVa), 1, 0xffffffff, 0x0fff0004});
  signal_event(queue);
  EXPECT_EQ(wait(5), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
  EXPECT_EQ(client.kernel->relax(), kfd::Relax::Stalled);
  EXPECT_FALSE(client.kernel->stall_report().empty());
  data[0] = 1;  // the host releases it, without any doorbell
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
}

TEST_F(VirtualDevice, ADestroyedQueueTouchesNothingAnyMore) {
  Queue queue(client, 0, KFD_IOC_QUEUE_TYPE_SDMA, true);
  queue.submit({0xd0000008, low(kDataVa), high(kDataVa), 1, 0xffffffff, 0x0fff0004});
  copy(queue, kDataVa + 8192, kDataVa, 4);
  EXPECT_EQ(wait(1), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
  kfd_ioctl_destroy_queue_args destroy{.queue_id = queue.id, .pad = 0};
  ASSERT_EQ(client.call(AMDKFD_IOC_DESTROY_QUEUE, destroy), 0);
  data[0] = 1;
  EXPECT_EQ(wait(1), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
  EXPECT_EQ(data[2048], 0u);
}

TEST_F(VirtualDevice, APausedQueueGoesOnWhereItWas) {
  Queue queue(client, 0, KFD_IOC_QUEUE_TYPE_SDMA, true);
  kfd_ioctl_update_queue_args update{.ring_base_address = kRingVa,
                                     .queue_id = queue.id,
                                     .ring_size = kRingBytes,
                                     .queue_percentage = 0,
                                     .queue_priority = 7};
  ASSERT_EQ(client.call(AMDKFD_IOC_UPDATE_QUEUE, update), 0);
  signal_event(queue);
  EXPECT_EQ(wait(1), uint32_t{KFD_IOC_WAIT_RESULT_TIMEOUT});
  update.queue_percentage = 100;
  ASSERT_EQ(client.call(AMDKFD_IOC_UPDATE_QUEUE, update), 0);
  EXPECT_EQ(wait(), uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
}

TEST_F(VirtualDevice, RunsAreEqualForEqualSeeds) {
  const auto run = [] {
    Client client("mock:gfx1100,cu=4,vram=1GiB,seed=9");
    client.acquire_all();
    Queue first(client, 0, KFD_IOC_QUEUE_TYPE_SDMA, true);
    first.submit({0x0, 0x0, 0x0});
    while (client.kernel->relax() == kfd::Relax::Again) {
    }
    return client.kernel->now_ns();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace doppel::mock::testing
