#include <atomic>

#include "backends/kfd/kfd_signal_pool.h"
#include "tests/backends/kfd/scripted_kernel.h"

namespace doppel::kfd {
namespace {

using std::chrono::milliseconds;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Return;

/// Events, waits and the signal pool over an obliging driver whose device never does anything
/// unless the test says so.
class KfdWaitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_ = KfdDriver::open(kernel_).value();
    memory_ = open(11);
    events_ = std::make_shared<KfdEvents>(driver_);
    waiter_ = std::make_shared<Waiter>(driver_, *events_);
    pool_ = std::make_shared<KfdSignalPool>(events_, waiter_);
    ASSERT_TRUE(events_->attach(*memory_));
    ASSERT_TRUE(pool_->attach(*memory_));
  }
  void TearDown() override {
    pool_.reset();
    waiter_.reset();
    events_.reset();
    memory_.reset();
    driver_.reset();
    EXPECT_TRUE(kernel_->nothing_leaked());
  }

  std::shared_ptr<KfdMemory> open(uint32_t gpu_id) {
    return KfdMemory::open(driver_, Descriptor::open(kernel_, "/dev/dri/renderD128").value(),
                           gpu_id)
        .value();
  }

  /// WAIT_EVENTS as `action` answers it; everything else obliges.
  template <class Action>
  void on_wait_events(Action action) {
    EXPECT_CALL(*kernel_, ioctl(_, ::testing::Ne(AMDKFD_IOC_WAIT_EVENTS), _))
        .Times(::testing::AnyNumber());
    EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_WAIT_EVENTS, _))
        .WillRepeatedly([this, action](int, unsigned long request, void* argument) {
          auto& args = *static_cast<kfd_ioctl_wait_events_args*>(argument);
          const int result = kernel_->answer(request, argument);
          return action(args, reinterpret_cast<kfd_event_data*>(args.events_ptr), result);
        });
  }

  std::shared_ptr<ScriptedKernel> kernel_ = std::make_shared<ScriptedKernel>();
  std::shared_ptr<KfdDriver> driver_;
  std::shared_ptr<KfdMemory> memory_;
  std::shared_ptr<KfdEvents> events_;
  std::shared_ptr<Waiter> waiter_;
  std::shared_ptr<KfdSignalPool> pool_;
};

TEST_F(KfdWaitTest, FirstEventAnnouncesThePageAndNoOther) {
  ASSERT_TRUE(events_->signal_event());
  ASSERT_GE(kernel_->event_pages.size(), 3u);
  EXPECT_NE(kernel_->event_pages[0], 0u);
  for (size_t index = 1; index < kernel_->event_pages.size(); ++index) {
    EXPECT_EQ(kernel_->event_pages[index], 0u);
  }
}

TEST_F(KfdWaitTest, SignalsShareABoundedSetOfEvents) {
  std::vector<Signal> signals;
  for (int index = 0; index < 100; ++index) signals.push_back(pool_->create({}).value());
  EXPECT_LE(kernel_->live_events.size(), 18u);
  EXPECT_NE(signals[0].ref().event_id, signals[1].ref().event_id);
  EXPECT_NE(signals[0].ref().mailbox_address, 0u);
}

TEST_F(KfdWaitTest, SignalWithoutInterruptHasNoMailbox) {
  const auto signal = pool_->create({.initial = 5, .interrupt = false});
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->value(), 5);
  EXPECT_EQ(signal->ref().mailbox_address, 0u);
  EXPECT_EQ(signal->ref().event_id, 0u);
}

TEST_F(KfdWaitTest, PoolRunsOutAndRecovers) {
  std::vector<Signal> signals;
  while (signals.size() < KfdSignalPool::kSignals) {
    signals.push_back(pool_->create({.interrupt = false}).value());
  }
  const auto none = pool_->create({.interrupt = false});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), StatusCode::Exhausted);
  EXPECT_EQ(pool_->in_use(), KfdSignalPool::kSignals);
  signals.pop_back();
  EXPECT_TRUE(pool_->create({.interrupt = false}));
}

TEST_F(KfdWaitTest, RecycledSignalIsClean) {
  uint64_t address = 0;
  {
    auto signal = pool_->create({.initial = 9});
    address = signal->ref().address;
  }
  const auto again = pool_->create({});
  EXPECT_EQ(again->ref().address, address);
  EXPECT_EQ(again->value(), 0);
  EXPECT_EQ(again->start_ticks(), 0u);
}

TEST_F(KfdWaitTest, ReachedValueNeedsNoDriver) {
  auto signal = pool_->create({.initial = 3});
  EXPECT_CALL(*kernel_, relax()).Times(0);
  EXPECT_TRUE(signal->wait(3));
  EXPECT_TRUE(signal->wait(3, {.condition = SignalCondition::Equal}));
  EXPECT_TRUE(signal->wait(4, {.condition = SignalCondition::Less}));
  EXPECT_TRUE(signal->wait(7, {.condition = SignalCondition::NotEqual}));
}

TEST_F(KfdWaitTest, SpinsThroughRelax) {
  auto signal = pool_->create({});
  int turns = 0;
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly([&] {
    if (++turns == 5) signal->set(1);
    return Relax::Again;
  });
  EXPECT_TRUE(signal->wait(1));
  EXPECT_EQ(turns, 5);
  for (unsigned long call : kernel_->calls) EXPECT_NE(call, AMDKFD_IOC_WAIT_EVENTS);
}

TEST_F(KfdWaitTest, SleepsInWaitEventsOnItsOwnEvent) {
  auto signal = pool_->create({});
  bool own_event_asked = false;
  on_wait_events([&](kfd_ioctl_wait_events_args& args, kfd_event_data* events, int) {
    EXPECT_EQ(args.num_events, 3u);
    EXPECT_LE(args.timeout, 100u);
    own_event_asked = events[2].event_id == signal->ref().event_id;
    signal->set(1);
    args.wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
    return 0;
  });
  EXPECT_TRUE(signal->wait(1));
  EXPECT_TRUE(own_event_asked);
}

TEST_F(KfdWaitTest, TimeoutNamesSignalWantedAndActual) {
  auto signal = pool_->create({.initial = 2});
  const auto result = signal->wait(40, {.timeout = milliseconds(500)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::Timeout);
  EXPECT_THAT(result.error().message(), HasSubstr("signal 0 ("));
  EXPECT_THAT(result.error().message(), HasSubstr("to become >= 40 (it is 2)"));
  EXPECT_THAT(result.error().message(), HasSubstr("timed out after 500 ms"));
}

TEST_F(KfdWaitTest, ValueIsLookedAtAgainAfterTheDeadline) {
  auto signal = pool_->create({});
  on_wait_events([&](kfd_ioctl_wait_events_args& args, kfd_event_data*, int result) {
    // Exactly the last, non-sleeping look for exceptions makes the value appear.
    if (args.timeout == 0) signal->set(1);
    return result;
  });
  EXPECT_TRUE(signal->wait(1, {.timeout = milliseconds(300)}));
}

TEST_F(KfdWaitTest, ZeroTimeoutLooksOnce) {
  auto signal = pool_->create({});
  EXPECT_EQ(signal->wait(1, {.timeout = milliseconds(0)}).error().code(), StatusCode::Timeout);
}

TEST_F(KfdWaitTest, StalledDeviceIsADeadlockAtOnce) {
  auto signal = pool_->create({});
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  EXPECT_CALL(*kernel_, stall_report()).WillOnce(Return("queue 1 waits for nobody"));
  const auto result = signal->wait(1, {.timeout = std::chrono::hours(24)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::Deadlock);
  EXPECT_THAT(result.error().message(), HasSubstr("to become >= 1 (it is 0)"));
  EXPECT_THAT(result.error().message(), HasSubstr("queue 1 waits for nobody"));
}

TEST_F(KfdWaitTest, MemoryExceptionBecomesADeviceFault) {
  auto signal = pool_->create({});
  EXPECT_CALL(*kernel_, fault_report()).WillRepeatedly(Return("queue 3 stopped at packet 12"));
  on_wait_events([&](kfd_ioctl_wait_events_args& args, kfd_event_data* events, int result) {
    if (args.timeout == 0) return result;
    events[0].memory_exception_data.gpu_id = 11;
    events[0].memory_exception_data.va = 0x7000'1000;
    events[0].memory_exception_data.failure.NotPresent = 1;
    args.wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
    return 0;
  });
  const auto result = signal->wait(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault);
  EXPECT_THAT(result.error().message(),
              HasSubstr("GPU 11 faults at address 0x70001000 (page not present)."));
  EXPECT_THAT(result.error().message(), HasSubstr("queue 3 stopped at packet 12"));
}

TEST_F(KfdWaitTest, FaultWhileStalledIsNotCalledADeadlock) {
  auto signal = pool_->create({});
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  on_wait_events([&](kfd_ioctl_wait_events_args& args, kfd_event_data* events, int) {
    events[1].hw_exception_data.gpu_id = 11;
    events[1].hw_exception_data.reset_type = KFD_HW_EXCEPTION_PER_ENGINE_RESET;
    args.wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
    return 0;
  });
  const auto result = signal->wait(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault);
  EXPECT_THAT(result.error().message(), HasSubstr("hangs or stops a queue (engine reset)"));
}

TEST_F(KfdWaitTest, HiddenServiceIsNamed) {
  auto signal = pool_->create({});
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly(Return(Relax::Stalled));
  on_wait_events([&](kfd_ioctl_wait_events_args& args, kfd_event_data* events, int) {
    events[0].memory_exception_data.gpu_id = 11;
    events[0].memory_exception_data.va = 0x2010;
    events[0].memory_exception_data.failure.NotPresent = 1;
    args.wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
    return 0;
  });
  EXPECT_THAT(signal->wait(1).error().message(),
              HasSubstr("hidden argument hidden_hostcall_buffer"));
}

/// One queue's fault must not fail a wait that another queue still satisfies.
TEST_F(KfdWaitTest, ValueBeatsAFaultElsewhere) {
  auto signal = pool_->create({});
  int sleeps = 0;
  on_wait_events([&](kfd_ioctl_wait_events_args& args, kfd_event_data* events, int result) {
    if (++sleeps == 1) {
      events[0].memory_exception_data.gpu_id = 11;
      args.wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
      return 0;
    }
    signal->set(1);
    return result;
  });
  EXPECT_TRUE(signal->wait(1));
  EXPECT_EQ(events_->exceptions().size(), 1u);
}

TEST_F(KfdWaitTest, InterruptedSleepIsRestarted) {
  auto signal = pool_->create({});
  int calls = 0;
  on_wait_events([&](kfd_ioctl_wait_events_args&, kfd_event_data*, int result) {
    if (++calls == 1) return -EINTR;
    signal->set(1);
    return result;
  });
  EXPECT_TRUE(signal->wait(1));
  EXPECT_EQ(calls, 2);
}

TEST_F(KfdWaitTest, RefusedSleepIsTheWaitsError) {
  auto signal = pool_->create({});
  on_wait_events([](kfd_ioctl_wait_events_args&, kfd_event_data*, int) { return -EBADF; });
  const auto result = signal->wait(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().os_error(), EBADF);
  EXPECT_THAT(result.error().message(), HasSubstr("WAIT_EVENTS"));
}

TEST_F(KfdWaitTest, FailedWaitResultIsAnError) {
  auto signal = pool_->create({});
  on_wait_events([](kfd_ioctl_wait_events_args& args, kfd_event_data*, int) {
    args.wait_result = KFD_IOC_WAIT_RESULT_FAIL;
    return 0;
  });
  EXPECT_EQ(signal->wait(1).error().code(), StatusCode::System);
}

TEST_F(KfdWaitTest, ServiceThatHelpsPreventsTheDeadlock) {
  class Helper : public HostService {
   public:
    Result<> serve() override {
      ++calls;
      if (asked) helped = true;
      return {};
    }
    int calls = 0;
    bool asked = false;
    bool helped = false;
  } helper;
  waiter_->add_service(&helper);
  auto signal = pool_->create({});
  EXPECT_CALL(*kernel_, relax()).WillRepeatedly([&] {
    if (helper.helped) {
      signal->set(1);
      return Relax::Again;
    }
    helper.asked = true;
    return Relax::Stalled;
  });
  EXPECT_TRUE(signal->wait(1));
  waiter_->remove_service(&helper);
  const int calls = helper.calls;
  EXPECT_FALSE(signal->wait(2, {.timeout = milliseconds(1)}));
  EXPECT_EQ(helper.calls, calls);
}

TEST_F(KfdWaitTest, FailedServiceEndsTheWait) {
  class Failing : public HostService {
   public:
    Result<> serve() override { return error(StatusCode::OutOfMemory, "No scratch."); }
  } failing;
  waiter_->add_service(&failing);
  auto signal = pool_->create({});
  EXPECT_EQ(signal->wait(1).error().message(), "No scratch.");
  waiter_->remove_service(&failing);
}

TEST_F(KfdWaitTest, RefusedEventIsReported) {
  kernel_->fail(AMDKFD_IOC_CREATE_EVENT, ENOSPC);
  const auto signal = pool_->create({});
  ASSERT_FALSE(signal);
  EXPECT_EQ(signal.error().code(), StatusCode::Exhausted);
  EXPECT_EQ(pool_->in_use(), 0u);
}

TEST_F(KfdWaitTest, EventSlotOutsideOfThePageIsRefused) {
  EXPECT_CALL(*kernel_, ioctl(_, ::testing::Ne(AMDKFD_IOC_CREATE_EVENT), _))
      .Times(::testing::AnyNumber());
  EXPECT_CALL(*kernel_, ioctl(_, AMDKFD_IOC_CREATE_EVENT, _))
      .WillOnce([this](int, unsigned long request, void* argument) {
        const int result = kernel_->answer(request, argument);
        static_cast<kfd_ioctl_create_event_args*>(argument)->event_slot_index = 4096;
        return result;
      });
  EXPECT_EQ(pool_->create({}).error().code(), StatusCode::System);
}

TEST_F(KfdWaitTest, SecondGpuGetsPageAndPool) {
  const auto other = open(22);
  const auto allocations = kernel_->live_handles.size();
  EXPECT_TRUE(events_->attach(*other));
  EXPECT_TRUE(pool_->attach(*other));
  EXPECT_EQ(kernel_->live_handles.size(), allocations) << "mapped, not allocated again";
}

}  // namespace
}  // namespace doppel::kfd
