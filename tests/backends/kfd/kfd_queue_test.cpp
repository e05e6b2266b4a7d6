// KfdQueue over an obliging driver whose GPU does nothing unless the test plays it.
#include "backends/kfd/kfd_queue.h"

#include <atomic>
#include <cstring>

#include "backends/kfd/kfd_device.h"
#include "core/commands.h"
#include "tests/backends/kfd/scripted_kernel.h"

namespace doppel::kfd {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Return;

class KfdQueueTest : public ::testing::Test {
 protected:
  void SetUp() override { open({}); }
  void TearDown() override {
    queue_.reset();
    device_.reset();
    EXPECT_TRUE(kernel_->nothing_leaked());
  }

  void open(const DeviceOptions& options) {
    queue_.reset();
    device_.reset();
    device_ = KfdDevice::open(KfdProcess::open(kernel_).value(), 0, "kfd:0", options).value();
  }

  /// A queue whose packets nobody reads.
  Queue& make(QueueKind kind, uint32_t ring_bytes = 4096) {
    queue_ = device_->create_queue({.kind = kind, .ring_bytes = ring_bytes}).value();
    return *queue_;
  }

  doppel::abi::AmdQueue& pointers() {
    return *reinterpret_cast<doppel::abi::AmdQueue*>(
        kernel_->last_queue.write_pointer_address -
        offsetof(doppel::abi::AmdQueue, write_dispatch_id));
  }
  uint64_t write_pointer() { return pointers().write_dispatch_id; }
  std::span<const uint32_t> ring() {
    return {reinterpret_cast<const uint32_t*>(kernel_->last_queue.ring_base_address),
            kernel_->last_queue.ring_size / 4};
  }

  Result<> fence(Queue& queue) {
    Submission submission(queue.kind(), GfxFamily::Gfx11);
    if (queue.kind() == QueueKind::Sdma) {
      SdmaEncoder(submission.commands).signal({.address = 0x1000}, 1);
    } else if (queue.kind() == QueueKind::Pm4) {
      Pm4Encoder(submission.commands).signal({.address = 0x1000}, 1);
    } else {
      AqlEncoder(submission.commands).barrier_and({});
    }
    return queue.submit(std::move(submission));
  }

  std::shared_ptr<ScriptedKernel> kernel_ = std::make_shared<ScriptedKernel>();
  std::unique_ptr<KfdDevice> device_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(KfdQueueTest, CreationTellsTheDriverWhatItDemands) {
  make(QueueKind::Pm4, 1 << 16);
  const auto& args = kernel_->last_queue;
  EXPECT_EQ(args.queue_type, uint32_t{KFD_IOC_QUEUE_TYPE_COMPUTE});
  EXPECT_EQ(args.ring_size, 65536u);
  EXPECT_EQ(args.gpu_id, ScriptedKernel::kGpuId);
  EXPECT_EQ(args.queue_percentage, 100u);
  EXPECT_EQ(args.queue_priority, 7u);
  EXPECT_EQ(args.eop_buffer_size, 4096u);
  EXPECT_EQ(args.ctl_stack_size, 0xa000u);
  EXPECT_EQ(args.ctx_save_restore_size, 0xa000u + 96 * 0x75000u);
  EXPECT_EQ(args.read_pointer_address - args.write_pointer_address, 128u - 56u);
  EXPECT_EQ(args.write_pointer_address / 4096, args.read_pointer_address / 4096)
      << "both in the one page that the scheduler maps";
}

TEST_F(KfdQueueTest, SdmaQueuesHaveNoComputeBuffers) {
  make(QueueKind::Sdma);
  EXPECT_EQ(kernel_->last_queue.queue_type, uint32_t{KFD_IOC_QUEUE_TYPE_SDMA});
  EXPECT_EQ(kernel_->last_queue.eop_buffer_address, 0u);
  EXPECT_EQ(kernel_->last_queue.ctx_save_restore_address, 0u);
}

TEST_F(KfdQueueTest, AqlQueueDescribesItselfInItsAmdQueue) {
  make(QueueKind::Aql);
  EXPECT_EQ(kernel_->last_queue.queue_type, uint32_t{KFD_IOC_QUEUE_TYPE_COMPUTE_AQL});
  const doppel::abi::AmdQueue& queue = pointers();
  EXPECT_EQ(queue.hsa_queue.base_address, kernel_->last_queue.ring_base_address);
  EXPECT_EQ(queue.hsa_queue.size, 64u);
  EXPECT_EQ(queue.group_segment_aperture_base_hi, 0x10000u);
  EXPECT_EQ(queue.private_segment_aperture_base_hi, 0x20000u);
  EXPECT_EQ(queue.max_cu_id, 95u);
  EXPECT_EQ(queue.max_wave_id, 31u);
  EXPECT_NE(queue.queue_inactive_signal, 0u);
  EXPECT_EQ(ring()[0], 1u) << "an invalid packet";
}

TEST_F(KfdQueueTest, EveryRefusalWhileCreatingIsReported) {
  struct Case {
    unsigned long request;
    int os_error;
    StatusCode code;
    int calls;
  };
  const Case cases[] = {
      {AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, ENOMEM, StatusCode::OutOfMemory, 5},
      {AMDKFD_IOC_MAP_MEMORY_TO_GPU, ENOMEM, StatusCode::OutOfMemory, 5},
      {AMDKFD_IOC_CREATE_EVENT, ENOSPC, StatusCode::Exhausted, 1},
      {AMDKFD_IOC_CREATE_QUEUE, EINVAL, StatusCode::InvalidArgument, 1},
      {AMDKFD_IOC_CREATE_QUEUE, ENOSPC, StatusCode::Exhausted, 1},
  };
  for (const Case& test : cases) {
    for (int nth = 1; nth <= test.calls; ++nth) {
      device_.reset();
      kernel_ = std::make_shared<ScriptedKernel>();
      open({});
      const auto handles = kernel_->live_handles.size();
      kernel_->fail(test.request, test.os_error, nth);
      const auto queue = device_->create_queue({.kind = QueueKind::Pm4});
      ASSERT_FALSE(queue) << ioctl_name(test.request) << " " << nth;
      EXPECT_EQ(queue.error().code(), test.code) << queue.error().to_string();
      EXPECT_EQ(kernel_->live_handles.size(), handles) << ioctl_name(test.request) << " " << nth;
      EXPECT_TRUE(kernel_->live_queues.empty());
    }
  }
}

TEST_F(KfdQueueTest, UnmappableDoorbellDestroysTheQueue) {
  EXPECT_CALL(*kernel_, mmap(_, _, _, _, _, _, _)).Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, mmap(_, abi::kDoorbellSliceBytes, _, _, ScriptedKernel::kKfdFd, _, _))
      .WillOnce([](void*, size_t, int, int, int, uint64_t, int* os_error) -> void* {
        *os_error = EAGAIN;
        return nullptr;
      });
  const auto queue = device_->create_queue({});
  ASSERT_FALSE(queue);
  EXPECT_THAT(queue.error().message(), HasSubstr("doorbells"));
  EXPECT_TRUE(kernel_->live_queues.empty());
}

TEST_F(KfdQueueTest, DoorbellInAnotherSliceIsRefused) {
  make(QueueKind::Pm4);
  EXPECT_CALL(*kernel_, ioctl(_, _, _)).Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_CREATE_QUEUE, _))
      .WillOnce([this](int, unsigned long request, void* argument) {
        const int result = kernel_->answer(request, argument);
        static_cast<kfd_ioctl_create_queue_args*>(argument)->doorbell_offset += 8192;
        return result;
      });
  const auto queue = device_->create_queue({});
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().code(), StatusCode::System);
  EXPECT_EQ(kernel_->live_queues.size(), 1u);
}

/// What a submission looks like to the engine: packets, marker, pointer.
TEST_F(KfdQueueTest, SubmissionEndsInAMarkerAndMovesThePointer) {
  Queue& queue = make(QueueKind::Pm4);
  ASSERT_TRUE(fence(queue));
  // RELEASE_MEM to 0x1008, then RELEASE_MEM twice: the timeline's value and its mailbox.
  EXPECT_EQ(write_pointer(), 24u);
  EXPECT_EQ(ring()[0], ring()[8]);
  EXPECT_EQ(ring()[3], 0x1008u);
  EXPECT_EQ(ring()[8 + 5], 1u) << "the first submission's number";
  EXPECT_EQ(queue.submitted(), 1u);
  EXPECT_EQ(queue.retired(), 0u);
  ASSERT_TRUE(fence(queue));
  EXPECT_EQ(ring()[24 + 8 + 5], 2u);
  EXPECT_EQ(write_pointer(), 48u);
}

TEST_F(KfdQueueTest, FullRingWaitsForItsReader) {
  Queue& queue = make(QueueKind::Sdma);  // 1,024 dwords; a submission is 4 + 4 + 4 + 2
  for (int count = 0; count < 73; ++count) ASSERT_TRUE(fence(queue));
  // Outlives the test's body: the queue's destructor waits as well.
  const auto turns = std::make_shared<int>(0);
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly([this, turns] {
    if (++*turns == 3) std::atomic_ref(pointers().read_dispatch_id).store(write_pointer());
    return Relax::Again;
  });
  EXPECT_TRUE(fence(queue));
  EXPECT_EQ(*turns, 3);
}

TEST_F(KfdQueueTest, FullRingThatNobodyReadsIsReported) {
  Queue& queue = make(QueueKind::Sdma);
  for (int count = 0; count < 73; ++count) ASSERT_TRUE(fence(queue));
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  EXPECT_CALL(*kernel_, stall_report()).WillRepeatedly(Return("sdma queue waits"));
  const auto result = fence(queue);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::Deadlock);
  EXPECT_THAT(result.error().message(), HasSubstr("to have room for 16 dwords (it has 1)"))
      << "14 of packets behind 2 of padding";
  EXPECT_EQ(queue.submitted(), 73u);
}

TEST_F(KfdQueueTest, KeepsAliveUntilRetired) {
  Queue& queue = make(QueueKind::Pm4);
  auto token = std::make_shared<int>(1);
  Submission submission(QueueKind::Pm4, GfxFamily::Gfx11);
  Pm4Encoder(submission.commands).memory_barrier();
  submission.keep_alive.push_back(token);
  ASSERT_TRUE(queue.submit(std::move(submission)));
  EXPECT_EQ(token.use_count(), 2);
  ASSERT_TRUE(fence(queue));
  EXPECT_EQ(token.use_count(), 2) << "nothing has retired";
  // Play the engine: the marker's RELEASE_MEM of the first submission names the signal.
  const auto dwords = ring();
  const uint32_t marker = 7 + 8;  // WAIT_REG_MEM and ACQUIRE_MEM come first
  const uint64_t address = dwords[marker + 3] | uint64_t{dwords[marker + 4]} << 32;
  std::atomic_ref(*reinterpret_cast<int64_t*>(address)).store(1);
  EXPECT_EQ(queue.retired(), 1u);
  ASSERT_TRUE(fence(queue));
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(KfdQueueTest, ScratchShrinksWhenMemoryIsShort) {
  Queue& queue = make(QueueKind::Pm4);
  const auto whole = queue.scratch(1024, 32);
  ASSERT_TRUE(whole);
  const uint64_t whole_bytes = kernel_->last_alloc.size;
  kernel_->fail(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, ENOMEM, 1, 2);
  const auto quarter = queue.scratch(2048, 32);
  ASSERT_TRUE(quarter) << quarter.error().to_string();
  EXPECT_EQ(kernel_->last_alloc.size, whole_bytes / 2) << "twice the wave, a quarter of the waves";
  EXPECT_NE(quarter->ring.tmpring_size, whole->ring.tmpring_size);
}

TEST_F(KfdQueueTest, NoScratchAtAllIsOutOfMemory) {
  Queue& queue = make(QueueKind::Pm4);
  kernel_->fail(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, ENOMEM, 1, 1000);
  EXPECT_EQ(queue.scratch(1024, 32).error().code(), StatusCode::OutOfMemory);
  EXPECT_EQ(queue.scratch(1 << 20, 32).error().code(), StatusCode::OutOfRange);
}

TEST_F(KfdQueueTest, LargerScratchLeavesTheOldOneToItsUsers) {
  Queue& queue = make(QueueKind::Pm4);
  auto small = queue.scratch(64, 32);
  ASSERT_TRUE(small);
  const auto again = queue.scratch(32, 32);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->ring.address, small->ring.address);
  const auto handles = kernel_->live_handles.size();
  const auto large = queue.scratch(4096, 32);
  ASSERT_TRUE(large);
  EXPECT_NE(large->ring.address, small->ring.address);
  EXPECT_EQ(kernel_->live_handles.size(), handles + 1) << "both are alive";
}

/// The packet processor asks for scratch, or says why it stopped, through queue_inactive_signal.
TEST_F(KfdQueueTest, AqlScratchRequestIsAnswered) {
  Queue& queue = make(QueueKind::Aql);
  ASSERT_TRUE(fence(queue));
  auto* packet =
      reinterpret_cast<doppel::abi::KernelDispatchPacket*>(kernel_->last_queue.ring_base_address);
  packet->private_segment_size = 256;
  auto* inactive = reinterpret_cast<doppel::abi::AmdSignal*>(pointers().queue_inactive_signal);
  inactive->value = doppel::abi::kQueueScratchWave64;
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  EXPECT_FALSE(queue.synchronize());
  EXPECT_EQ(inactive->value, 0);
  EXPECT_EQ(pointers().scratch_wave64_lane_byte_size, 256u);
  EXPECT_NE(pointers().scratch_backing_memory_location, 0u);
  EXPECT_NE(pointers().compute_tmpring_size, 0u);
}

TEST_F(KfdQueueTest, AqlStopIsADeviceFaultWithItsReason) {
  Queue& queue = make(QueueKind::Aql);
  auto* inactive = reinterpret_cast<doppel::abi::AmdSignal*>(pointers().queue_inactive_signal);
  inactive->value = doppel::abi::kQueueErrorIllegalInstruction;
  ASSERT_TRUE(fence(queue));
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  const auto result = queue.synchronize();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault);
  EXPECT_THAT(result.error().message(), HasSubstr("a wave meets an illegal instruction"));
  EXPECT_EQ(inactive->value, int64_t{doppel::abi::kQueueErrorIllegalInstruction});
}

TEST_F(KfdQueueTest, RefusedDestructionIsReported) {
  make(QueueKind::Pm4);
  kernel_->fail(AMDKFD_IOC_DESTROY_QUEUE, ETIME);
  const auto closed = static_cast<KfdQueue&>(*queue_).close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code(), StatusCode::Timeout);
  EXPECT_EQ(fence(*queue_).error().code(), StatusCode::Unavailable);
  kernel_->live_queues.clear();
}

TEST_F(KfdQueueTest, QueueOutlivesItsDevice) {
  make(QueueKind::Sdma);
  device_.reset();
  EXPECT_FALSE(kernel_->fds.empty());
  queue_.reset();
  EXPECT_TRUE(kernel_->fds.empty());
}

TEST_F(KfdQueueTest, ArgumentsAreCopiedAndPatched) {
  Queue& queue = make(QueueKind::Pm4);
  Submission submission(QueueKind::Pm4, GfxFamily::Gfx11);
  const uint32_t first = submission.arguments.reserve(8, 8);
  const uint32_t second = submission.arguments.reserve(16, 256);
  EXPECT_EQ(second, 256u);
  submission.arguments.at(second, 1)[0] = std::byte{0x77};
  submission.arguments.point(first, second);
  const IndirectPatch patch = Pm4Encoder(submission.commands).indirect(0x1000, 4);
  submission.arguments.refer(patch.address, first);
  ASSERT_TRUE(queue.submit(std::move(submission)));
  const uint64_t block = ring()[1] | uint64_t{ring()[2] & 0xffff} << 32;
  EXPECT_EQ(block % 256, 0u);
  uint64_t pointed = 0;
  std::memcpy(&pointed, reinterpret_cast<const void*>(block), sizeof pointed);
  EXPECT_EQ(pointed, block + 256);
  EXPECT_EQ(*reinterpret_cast<const uint8_t*>(pointed), 0x77);
}

/// Submissions that fail after their arguments were placed must not use the memory up.
TEST_F(KfdQueueTest, RefusedSubmissionsGiveTheirArgumentsBack) {
  open({.argument_bytes = 4096});
  Queue& queue = make(QueueKind::Pm4);
  for (int round = 0; round < 100; ++round) {
    Submission submission(QueueKind::Pm4, GfxFamily::Gfx11);
    submission.arguments.reserve(1024, 256);
    for (int count = 0; count < 200; ++count) {
      Pm4Encoder(submission.commands).signal({.address = 0x1000}, 1);
    }
    ASSERT_EQ(queue.submit(std::move(submission)).error().code(), StatusCode::OutOfRange);
  }
  for (int round = 0; round < 100; ++round) {
    Submission submission(QueueKind::Pm4, GfxFamily::Gfx11);
    submission.arguments.reserve(1024, 256);
    Pm4Encoder(submission.commands).memory_barrier();
    const auto abandoned = queue.reserve(std::move(submission));
    ASSERT_TRUE(abandoned);
  }
  EXPECT_EQ(queue.submitted(), 0u);
}

/// What a graph launch does: packets for two queues at once. One has no room: the other's ring,
/// write pointer and doorbell stay as they are, whichever is asked first.
TEST_F(KfdQueueTest, WhatOneQueueRefusesReachesNone) {
  const auto open_queue = [&](QueueKind kind) {
    return device_->create_queue({.kind = kind, .ring_bytes = 4096}).value();
  };
  struct Opened {
    std::unique_ptr<Queue> queue;
    kfd_ioctl_create_queue_args args;
  };
  std::vector<Opened> opened;
  for (QueueKind kind : {QueueKind::Pm4, QueueKind::Sdma, QueueKind::Pm4, QueueKind::Sdma}) {
    auto queue = open_queue(kind);
    opened.push_back({std::move(queue), kernel_->last_queue});
  }
  const auto snapshot = [&] {
    std::vector<std::byte> bytes;
    const auto append = [&](uint64_t address, size_t count) {
      const auto* first = reinterpret_cast<const std::byte*>(address);
      bytes.insert(bytes.end(), first, first + count);
    };
    for (const Opened& each : opened) {
      append(each.args.ring_base_address, each.args.ring_size);
      append(each.args.write_pointer_address, sizeof(uint64_t));
    }
    for (const auto& [address, length] : kernel_->mappings)
      if (length == abi::kDoorbellSliceBytes) append(reinterpret_cast<uint64_t>(address), length);
    return bytes;
  };
  const auto fence_of = [](Queue& queue) {
    Submission submission(queue.kind(), GfxFamily::Gfx11);
    if (queue.kind() == QueueKind::Sdma)
      SdmaEncoder(submission.commands).signal({.address = 0x1000}, 1);
    else
      Pm4Encoder(submission.commands).signal({.address = 0x1000}, 1);
    return submission;
  };
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  Queue& full = *opened[1].queue;
  while (fence(full)) {
  }
  const std::vector<std::byte> before = snapshot();
  ASSERT_GT(before.size(), 4 * 4096u) << "the doorbells are among it";
  for (size_t other : {0, 2, 3}) {
    Queue& queue = *opened[other].queue;
    std::vector<QueuedSubmission> submissions;
    submissions.push_back({&queue, fence_of(queue)});
    submissions.push_back({&full, fence_of(full)});
    const auto refused = submit_together(std::move(submissions));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), StatusCode::Deadlock);
    EXPECT_TRUE(snapshot() == before) << "queue " << other;
    EXPECT_EQ(queue.submitted(), 0u);
  }
  ASSERT_TRUE(fence(*opened[0].queue));
  EXPECT_FALSE(snapshot() == before) << "a submission shows in what is compared";
}

TEST_F(KfdQueueTest, BadOptionsNeverReachTheDriver) {
  for (const QueueOptions& options :
       {QueueOptions{.ring_bytes = 1000}, QueueOptions{.ring_bytes = 2048},
        QueueOptions{.ring_bytes = 1u << 31}, QueueOptions{.priority = 16}}) {
    const auto handles = kernel_->calls.size();
    EXPECT_EQ(device_->create_queue(options).error().code(), StatusCode::InvalidArgument);
    EXPECT_EQ(kernel_->calls.size(), handles);
  }
}

}  // namespace
}  // namespace doppel::kfd
