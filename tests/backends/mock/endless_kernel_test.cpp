// A kernel that waits for a word that nobody writes: its queue faults once the dispatch has used up
// its instructions, and other queues go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/open_device.h"
#include "tests/paths.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;

TEST(EndlessKernel, FaultsItsQueueAlone) {
  const auto gpu = open_device("mock:gfx1100,instructions=100000").value();
  const Program program = gpu->load_program(test::kernel_file("faults.gfx1100.co")).value();
  const Allocation flag = gpu->allocate(4096).value();
  const Signal spun = gpu->create_signal().value(), filled = gpu->create_signal().value();
  ASSERT_TRUE(gpu->sdma().fill(flag, 0).signal(filled, 1).submit());
  ASSERT_TRUE(filled.wait(1));

  ASSERT_TRUE(gpu->compute()
                  .exec(program.kernel("spin_until"), args(flag), 1, 32)
                  .signal(spun, 1)
                  .submit());
  const auto result = spun.wait(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), StatusCode::DeviceFault);
  EXPECT_THAT(result.error().message(), HasSubstr("InstructionBudget"));
  EXPECT_THAT(result.error().message(), HasSubstr("(100000; setting \"instructions\")"));
  EXPECT_THAT(result.error().message(), HasSubstr("instruction: "));

  EXPECT_TRUE(gpu->sdma().fill(flag, 1).signal(filled, 2).submit());
  EXPECT_TRUE(filled.wait(2));
}

}  // namespace
}  // namespace doppel
