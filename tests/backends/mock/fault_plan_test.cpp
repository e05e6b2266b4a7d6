// Fault plans: their text, and what becomes of the runtime on a machine that fails anywhere.
#include "backends/mock/fault_plan.h"

#include <errno.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <fmt/format.h>

#include "backends/kfd/kfd_abi.h"
#include "backends/kfd/kfd_device.h"
#include "backends/mock/virtual_kernel.h"

namespace doppel::mock {
namespace {

using ::testing::HasSubstr;

TEST(FaultPlan, CountsCallsByLine) {
  auto plan = FaultPlan::parse(
      "# comment\n"
      "\n"
      "ioctl AMDKFD_IOC_CREATE_QUEUE 2 ENOMEM  # the second\n"
      "ioctl * 4+ EINTR\n"
      "mmap 1 EACCES\n"
      "interrupt 2 lost");
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->on_ioctl("AMDKFD_IOC_CREATE_QUEUE"), 0);
  EXPECT_EQ(plan->on_ioctl("AMDKFD_IOC_GET_VERSION"), 0);
  EXPECT_EQ(plan->on_ioctl("AMDKFD_IOC_CREATE_QUEUE"), ENOMEM);
  EXPECT_EQ(plan->on_ioctl("AMDKFD_IOC_CREATE_QUEUE"), EINTR);
  EXPECT_EQ(plan->on_ioctl("AMDKFD_IOC_GET_VERSION"), EINTR);
  EXPECT_EQ(plan->on_mmap(), EACCES);
  EXPECT_EQ(plan->on_mmap(), 0);
  EXPECT_FALSE(plan->on_interrupt());
  EXPECT_TRUE(plan->on_interrupt());
  EXPECT_FALSE(plan->on_interrupt());
}

TEST(FaultPlan, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* problem;
  } kCases[] = {
      {"\nfire 1 ENOMEM", "Line 2 of the fault plan can't be used: fire can't go wrong"},
      {"ioctl", "\"ioctl NAME CALL ERRNO\""},
      {"ioctl AMDKFD_IOC_CREATE_QUEUE 1", "\"ioctl NAME CALL ERRNO\""},
      {"ioctl AMDKFD_IOC_NOTHING 1 ENOMEM", "no driver has the call AMDKFD_IOC_NOTHING"},
      {"ioctl * 0 ENOMEM", "0 is none of N, N+ and *"},
      {"ioctl * x ENOMEM", "x is none of"},
      {"ioctl * 1 EWHATEVER", "there is no error EWHATEVER"},
      {"mmap ENOMEM", "\"mmap CALL ERRNO\""},
      {"interrupt 1 late", "lost, not late"},
  };
  for (const auto& each : kCases) {
    const auto plan = FaultPlan::parse(each.text);
    ASSERT_FALSE(plan) << each.text;
    EXPECT_THAT(plan.error().to_string(), HasSubstr(each.problem));
  }
}

constexpr std::string_view kWrong = "The memory comes back wrong.";

/// Opens a machine with that plan, and copies memory to and fro.
Result<> work(const std::shared_ptr<VirtualKernel>& kernel) {
  DOPPEL_ASSIGN(auto process, kfd::KfdProcess::open(kernel));
  DOPPEL_ASSIGN(const auto gpu, kfd::KfdDevice::open(process, 0, "gpu"));
  DOPPEL_ASSIGN(const Allocation memory, gpu->allocate(4096));
  const std::vector<uint32_t> values(1024, 7);
  DOPPEL_TRY(gpu->write(memory, values));
  DOPPEL_ASSIGN(const Signal done, gpu->create_signal());
  DOPPEL_TRY(gpu->compute().memory_barrier().signal(done, 1).submit());
  DOPPEL_TRY(done.wait(1));
  DOPPEL_ASSIGN(const auto back, gpu->read<uint32_t>(memory));
  if (back != values) return error(StatusCode::System, std::string(kWrong));
  return {};
}

std::shared_ptr<VirtualKernel> machine_with(const std::string& plan) {
  MachineProfile profile = parse_machine("gfx1100,vram=64MiB").value();
  profile.faults = std::make_shared<FaultPlan>(FaultPlan::parse(plan).value());
  return VirtualKernel::create(std::move(profile)).value();
}

class DriverFails : public ::testing::TestWithParam<const char*> {};

/// Whenever the call fails, with whatever error: the program fails in words or does its work, and
/// nothing of it stays on the machine but what the driver did not let go of.
TEST_P(DriverFails, AndNothingIsLeftBehind) {
  const std::string call = GetParam();
  const bool releases =
      call.find("UNMAP") != std::string::npos || call.find("FREE") != std::string::npos;
  constexpr uint32_t kCalls = 24;  // more than the work makes of any kind
  for (uint32_t number = 1; number <= kCalls; ++number) {
    for (const char* how : {"ENOMEM", "EINVAL", "EBUSY", "ENODEV"}) {
      const std::string plan = fmt::format("{} {} {}", call, number, how);
      const auto kernel = machine_with(plan);
      const Result<> done = work(kernel);
      EXPECT_TRUE(done || done.error().message() != kWrong) << plan;
      if (releases) continue;
      EXPECT_EQ(kernel->machine().gpus()[0].vram_used(), 0u) << plan;
      // The page of events is the driver's until the process ends: it can't be freed (Linux
      // kfd_chardev.c, kfd_ioctl_free_memory_of_gpu).
      EXPECT_LE(kernel->machine().gtt_used(), kfd::abi::kEventPageBytes) << plan;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DriverFails,
                         ::testing::Values("mmap", "ioctl GET_VERSION", "ioctl ACQUIRE_VM",
                                           "ioctl GET_PROCESS_APERTURES_NEW",
                                           "ioctl GET_CLOCK_COUNTERS", "ioctl ALLOC_MEMORY_OF_GPU",
                                           "ioctl MAP_MEMORY_TO_GPU", "ioctl UNMAP_MEMORY_FROM_GPU",
                                           "ioctl FREE_MEMORY_OF_GPU", "ioctl CREATE_EVENT",
                                           "ioctl DESTROY_EVENT", "ioctl WAIT_EVENTS",
                                           "ioctl CREATE_QUEUE", "ioctl DESTROY_QUEUE"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) { return c == ' ' || c == '_'; });
                           return name;
                         });

TEST(FaultPlan, AFailureReachesTheProgram) {
  for (const char* call :
       {"mmap 1", "ioctl ACQUIRE_VM 1", "ioctl ALLOC_MEMORY_OF_GPU 1", "ioctl MAP_MEMORY_TO_GPU 2",
        "ioctl CREATE_EVENT 1", "ioctl AMDKFD_IOC_CREATE_QUEUE 1"}) {
    const auto done = work(machine_with(fmt::format("{} ENOMEM", call)));
    ASSERT_FALSE(done) << call;
    EXPECT_EQ(done.error().os_error(), ENOMEM) << done.error().to_string();
  }
}

TEST(FaultPlan, ALostInterruptDelaysAWaitAndNoMore) {
  const auto done = work(machine_with("interrupt * lost"));
  EXPECT_TRUE(done) << done.error().to_string();
}

TEST(FaultPlan, IsASettingOfTheMachine) {
  const std::string file = ::testing::TempDir() + "doppel_fault_plan.txt";
  std::ofstream(file) << "ioctl AMDKFD_IOC_CREATE_QUEUE * ENOMEM\n";
  const auto profile = parse_machine("gfx1100,faults=" + file);
  ASSERT_TRUE(profile) << profile.error().to_string();
  const auto done = work(VirtualKernel::create(*profile).value());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().to_string(), HasSubstr("ENOMEM"));
  EXPECT_FALSE(parse_machine("gfx1100,faults=/nowhere"));
}

}  // namespace
}  // namespace doppel::mock
