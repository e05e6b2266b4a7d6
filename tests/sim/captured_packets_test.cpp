// Packets captured from unmodified clients, carried out in their order over the memory that the
// client allocated: nothing may fault, and every wait must pass on what the queues themselves
// wrote, but for signals that only the host sets. Kernels are empty here: the captures have no
// code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/packets/packet.h"
#include "emulator/simulator.h"
#include "tests/paths.h"

namespace doppel::emu {
namespace {

constexpr uint64_t kRingBytes = 65536;
constexpr uint64_t kRings = 0x10'0000'0000;  // below what the captures allocate
constexpr uint32_t kEndpgm = 0xbfb00000;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class Replay final : public InterruptSink {
 public:
  Replay() {
    GpuConfig gpu;
    gpu.target = find_target("gfx1100").value();
    simulator_.add_gpu(gpu);
  }

  void line(const std::string& text) {
    std::istringstream in(text);
    std::string kind, name, place;
    in >> kind >> name;
    if (kind == "ioctl") return ioctl(name, in);
    if (kind != "pm4" && kind != "sdma") return;
    in >> place;
    std::vector<uint32_t> dwords;
    in >> std::hex;
    for (uint32_t dword; in >> dword;) dwords.push_back(dword);
    packet(kind == "pm4" ? QueueKind::Pm4 : QueueKind::Sdma, name, dwords);
    ++packets;
  }

  void on_interrupt(uint32_t, uint32_t) override { ++interrupts; }
  void on_fault(const Fault& fault) override { faults.push_back(fault.to_string()); }

  int packets = 0, dispatches = 0, host_signals = 0, interrupts = 0;
  std::vector<std::string> faults;

 private:
  struct Queue {
    QueueConfig config;
    uint64_t put = 0;  // bytes
  };

  std::byte* map(uint64_t va, uint64_t bytes, uint64_t handle) {
    const uint64_t size = (bytes + kGpuPageBytes - 1) / kGpuPageBytes * kGpuPageBytes;
    // calloc leaves large blocks to be filled with zeros at the first touch.
    auto& block = blocks_.emplace_back(std::calloc(size + kGpuPageBytes, 1));
    const auto raw = reinterpret_cast<uintptr_t>(block.get());
    auto* host =
        reinterpret_cast<std::byte*>((raw + kGpuPageBytes - 1) / kGpuPageBytes * kGpuPageBytes);
    const auto mapped = vm_.map({va, size, host, 7, MemoryKind::Vram, false, handle});
    EXPECT_TRUE(mapped) << mapped.error().to_string();
    return host;
  }

  /// Follows ALLOC_MEMORY_OF_GPU (16) and FREE_MEMORY_OF_GPU (17).
  void ioctl(const std::string& number, std::istringstream& in) {
    std::string word;
    std::vector<uint64_t> out;
    while (in >> word && word != "out") {
    }
    while (in >> word && word != "rc" && word != "gpus")
      out.push_back(std::stoul(word, nullptr, 16));
    auto pair = [&](size_t at) { return out[at] | out[at + 1] << 32; };
    if (number == "16") {
      handles_[pair(4)] = pair(0);
      map(pair(0), pair(2), pair(4));
    } else if (number == "17") {
      EXPECT_TRUE(vm_.unmap(handles_.at(pair(0))));
    }
  }

  Queue& queue(QueueKind kind, const std::string& name) {
    const auto found = queues_.find(name);
    if (found != queues_.end()) return found->second;
    Queue& queue = queues_[name];
    const uint64_t va = kRings + queues_.size() * 0x100000;
    map(va, kRingBytes + kGpuPageBytes, 0);
    queue.config = {.kind = kind,
                    .id = static_cast<uint32_t>(queues_.size()),
                    .vm = &vm_,
                    .ring = va,
                    .ring_bytes = kRingBytes,
                    .read_pointer = va + kRingBytes,
                    .write_pointer = va + kRingBytes + 8};
    EXPECT_TRUE(simulator_.gpu(0).create_queue(queue.config, this));
    return queue;
  }

  void packet(QueueKind kind, const std::string& name, std::span<const uint32_t> dwords) {
    const auto language = kind == QueueKind::Pm4 ? packets::Language::Pm4 : packets::Language::Sdma;
    const auto packet = packets::next_packet(language, dwords, GfxFamily::Gfx11);
    ASSERT_TRUE(packet.ok()) << packet.error->message;
    if (packet.pm4_id() == pm4::Id::IndirectBuffer) return;  // its packets follow
    if (packet.pm4_id() == pm4::Id::SetShReg && packet.as<pm4::SetShReg>().reg_offset() == 0x20c) {
      put(uint64_t{packet.payload()[0]} << 8 | uint64_t{packet.payload()[1]} << 40, kEndpgm);
    }
    dispatches += packet.pm4_id() == pm4::Id::DispatchDirect;
    Queue& target = queue(kind, name);
    for (uint32_t dword : dwords) {
      put(target.config.ring + target.put % kRingBytes, dword);
      target.put += 4;
    }
    put<uint64_t>(target.config.write_pointer,
                  kind == QueueKind::Pm4 ? target.put / 4 : target.put);
    run();
    if (!simulator_.idle()) release(packet);
    ASSERT_TRUE(simulator_.idle()) << simulator_.stall_report();
  }

  /// Sets, as the host, the signal that the packet waits for.
  void release(const packets::Packet& packet) {
    ++host_signals;
    if (packet.pm4_id() == pm4::Id::WaitRegMem) {
      const auto wait = packet.as<pm4::WaitRegMem>();
      put(wait.address(), wait.reference());
    } else if (packet.sdma_id() == sdma::Id::PollRegmem) {
      const auto poll = packet.as<sdma::PollRegmem>();
      put(poll.address(), poll.value());
    }
    run();
  }

  template <class Word>
  void put(uint64_t va, Word word) {
    EXPECT_TRUE(vm_.write(va, std::as_bytes(std::span(&word, 1)))) << std::hex << va;
  }
  void run() {
    while (simulator_.step()) {
    }
  }

  GpuVm vm_;
  std::vector<std::unique_ptr<void, Free>> blocks_;
  std::map<uint64_t, uint64_t> handles_;  // to addresses
  std::map<std::string, Queue> queues_;
  Simulator simulator_;
};

class CapturedPackets : public ::testing::TestWithParam<const char*> {};

TEST_P(CapturedPackets, AreCarriedOutWithoutAFault) {
  std::ifstream in(test::shared_dir() / "streams" / GetParam());
  if (!in) GTEST_SKIP() << "the captured streams are not here (" << GetParam() << ")";
  Replay replay;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    SCOPED_TRACE("line " + std::to_string(++number));
    replay.line(line);
    ASSERT_THAT(replay.faults, ::testing::IsEmpty());
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(replay.packets, 300);
  EXPECT_GT(replay.dispatches, 10);
  EXPECT_GT(replay.interrupts, 10);
  RecordProperty("host_signals", replay.host_signals);
  EXPECT_LT(replay.host_signals, replay.packets / 20) << "waits do not see the queues' own writes";
}

INSTANTIATE_TEST_SUITE_P(Tinygrad, CapturedPackets,
                         ::testing::Values("tinygrad-2024-07-gfx1100.txt",
                                           "tinygrad-2026-08-gfx1100.txt"),
                         [](const auto& info) { return "capture" + std::to_string(info.index); });

}  // namespace
}  // namespace doppel::emu
