// What the emulator tells an observer about a run.
#include "emulator/verify/observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/emulator/machine.h"

namespace doppel::emu {
namespace {

using test::Client;
using test::Machine;
using test::Stream;

/// Writes down what it is told.
class Diary final : public Observer {
 public:
  void on_queue_created(const QueueRef& queue) override { add("created {}", queue.name); }
  void on_queue_destroyed(const QueueRef& queue) override { add("destroyed {}", queue.name); }
  void on_submission(const QueueRef& queue, uint64_t end) override {
    add("{} has {} dwords", queue.config.id, end);
  }
  void on_packet(const PacketEvent& event) override {
    add("{} {} {}", event.queue.config.id, event.packet.name(), event.place.to_string());
  }
  void on_packet_step(const PacketEvent& event, PacketProgress progress,
                      std::span<const MemoryAccess> accesses) override {
    static constexpr const char* kProgress[] = {"done", "waits", "slice"};
    static constexpr const char* kModes[] = {"read", "scalar read", "write", "atomic"};
    add("{} {} {}", event.queue.config.id, event.packet.name(),
        kProgress[static_cast<int>(progress)]);
    for (const MemoryAccess& access : accesses) {
      add("  {} {} bytes", kModes[static_cast<int>(access.mode)], access.size);
    }
  }
  void on_fault(const QueueRef& queue, const Fault&) override { add("{} fault", queue.config.id); }
  void on_map(const GpuVm&, const Mapping& mapping) override { add("map {}", mapping.size); }
  void on_unmap(const GpuVm&, const Mapping& mapping) override { add("unmap {}", mapping.size); }

  std::vector<std::string> take() { return std::exchange(lines_, {}); }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  std::vector<std::string> lines_;
};

class ObserverTest : public ::testing::Test {
 protected:
  ObserverTest() { machine.simulator.observe(&diary); }
  Machine machine;
  Diary diary;
};

using Lines = std::vector<std::string>;

TEST_F(ObserverTest, SeesPacketsAndTheBytesTheyTouch) {
  Client& sdma = machine.queue(QueueKind::Sdma);
  EXPECT_EQ(diary.take(), Lines{"created queue 1 (sdma, gpu 0)"});
  const uint64_t from = machine.allocate(4096), to = machine.allocate(4096);
  EXPECT_EQ(diary.take(), (Lines{"map 4096", "map 4096"}));
  sdma.submit(
      Stream() << sdma::CopyLinear(test::kFamily).count(99).src_address(from).dst_address(to)
               << sdma::Fence(test::kFamily).address(to).data(7));
  machine.run();
  EXPECT_EQ(diary.take(),
            (Lines{"1 has 11 dwords", "1 COPY_LINEAR at dword 0 of the ring", "1 COPY_LINEAR done",
                   "  read 100 bytes", "  write 100 bytes", "1 FENCE at dword 7 of the ring",
                   "1 FENCE done", "  write 4 bytes"}));
}

TEST_F(ObserverTest, SeesAWaitEachTimeItIsTried) {
  Client& pm4 = machine.queue(QueueKind::Pm4);
  const uint64_t word = machine.allocate(4096);
  diary.take();
  pm4.submit(Stream() << pm4::WaitRegMem(test::kFamily)
                             .function(pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE)
                             .mem_space(pm4::MemSpace::MEMORY_SPACE)
                             .address(word)
                             .reference(1)
                             .mask(~0u));
  machine.run();
  EXPECT_EQ(diary.take(), (Lines{"1 has 7 dwords", "1 WAIT_REG_MEM at dword 0 of the ring",
                                 "1 WAIT_REG_MEM waits", "  read 4 bytes"}));
  machine.poke<uint32_t>(word, 1);
  machine.run();
  EXPECT_EQ(diary.take(), (Lines{"1 WAIT_REG_MEM done", "  read 4 bytes"}));
}

TEST_F(ObserverTest, SeesFaultsUnmapsAndTheEndOfQueues) {
  Client& sdma = machine.queue(QueueKind::Sdma);
  const uint64_t gone = machine.allocate(4096);
  diary.take();
  ASSERT_TRUE(machine.vm.unmap(gone));
  sdma.submit(Stream() << sdma::Fence(test::kFamily).address(gone).data(7));
  machine.run();
  ASSERT_TRUE(machine.gpu().destroy_queue(sdma.id()));
  EXPECT_EQ(diary.take(), (Lines{"unmap 4096", "1 has 4 dwords", "1 FENCE at dword 0 of the ring",
                                 "1 fault", "destroyed queue 1 (sdma, gpu 0)"}));
}

}  // namespace
}  // namespace doppel::emu
