// Hazards between real queues: each defect with its rule and culprits, and its corrected twin
// without a finding.
#include "emulator/verify/order_checker.h"

#include <gtest/gtest.h>

#include "tests/emulator/machine.h"

namespace doppel::verify {
namespace {

using emu::QueueKind;
using emu::test::Client;
using emu::test::kFamily;
using emu::test::Machine;
using emu::test::Stream;

constexpr uint32_t kBytes = 256;

class OrderCheckerTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  static auto copy(uint64_t from, uint64_t to) {
    return sdma::CopyLinear(kFamily).count(kBytes - 1).src_address(from).dst_address(to);
  }
  static auto fence(uint64_t word, uint32_t value) {
    return sdma::Fence(kFamily).address(word).data(value);
  }
  static auto poll(uint64_t word, uint32_t value) {
    return sdma::PollRegmem(kFamily)
        .func(sdma::PollFunction::GREATER_EQUAL)
        .mem_poll(true)
        .address(word)
        .value(value)
        .mask(~0u)
        .retry_count(sdma::kPollForEver);
  }
  std::string report() { return log.to_string(); }

  Machine& observed() {
    machine.simulator.observe(&checker);
    return machine;
  }

  FindingLog log;
  OrderChecker checker{log};
  Machine machine{GetParam()};
  Client& first = observed().queue(QueueKind::Sdma);
  Client& second = machine.queue(QueueKind::Sdma);
  uint64_t a = machine.allocate(4096), b = machine.allocate(4096), c = machine.allocate(4096);
  uint64_t signal = machine.allocate(4096);
};

TEST_P(OrderCheckerTest, CopyOfACopyWithoutAWait) {
  first.submit(Stream() << copy(a, b));
  second.submit(Stream() << copy(b, c));
  machine.run();
  ASSERT_EQ(log.findings().size(), 1u) << report();
  const Finding& finding = log.findings()[0];
  EXPECT_TRUE(finding.rule == RuleId::ReadAfterWrite || finding.rule == RuleId::WriteAfterRead);
  EXPECT_EQ(finding.culprits[0].action, "COPY_LINEAR");
  EXPECT_NE(finding.culprits[0].actor, finding.culprits[1].actor);
  EXPECT_EQ(finding.range->va, b);
  EXPECT_EQ(finding.range->size, kBytes);
}

TEST_P(OrderCheckerTest, CopyOfACopyBehindASignal) {
  first.submit(Stream() << copy(a, b) << fence(signal, 1));
  second.submit(Stream() << poll(signal, 1) << copy(b, c));
  machine.run();
  EXPECT_EQ(report(), "");
}

TEST_P(OrderCheckerTest, TwoWritersWithoutAWait) {
  first.submit(Stream() << copy(a, c));
  second.submit(Stream() << copy(b, c));
  machine.run();
  ASSERT_EQ(log.findings().size(), 1u) << report();
  EXPECT_EQ(log.findings()[0].rule, RuleId::WriteAfterWrite);
}

TEST_P(OrderCheckerTest, AWaitForTooEarlyAValueProvesTooLittle) {
  first.submit(Stream() << fence(signal, 1) << copy(a, b) << fence(signal, 2));
  second.submit(Stream() << poll(signal, 1) << copy(b, c));
  machine.run();
  EXPECT_EQ(log.findings().size(), 1u) << report();
}

TEST_P(OrderCheckerTest, AWaitThatTheOldValueSatisfiesProvesNothing) {
  machine.poke<uint32_t>(signal, 7);
  first.submit(Stream() << copy(a, b) << fence(signal, 8));
  second.submit(Stream() << poll(signal, 1) << copy(b, c));
  machine.run();
  EXPECT_EQ(log.findings().size(), 1u) << report();
}

TEST_P(OrderCheckerTest, OneQueueIsInOrder) {
  first.submit(Stream() << copy(a, b) << copy(b, c) << copy(a, b));
  machine.run();
  EXPECT_EQ(report(), "");
}

TEST_P(OrderCheckerTest, ReadersDoNotConflict) {
  first.submit(Stream() << copy(a, b));
  second.submit(Stream() << copy(a, c));
  machine.run();
  EXPECT_EQ(report(), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, OrderCheckerTest, ::testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace doppel::verify
