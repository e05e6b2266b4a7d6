#include "tests/verify/defects/lab.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/packets/pm4.h"
#include "tests/paths.h"

namespace doppel::verify::test {

Lab::Lab(const std::string& machine) {
  auto devices = open_devices(machine, {.verify = Verify::all()});
  EXPECT_TRUE(devices) << devices.error().to_string();
  devices_ = *std::move(devices);
  for (size_t index = 0; index < devices_.size(); ++index) programs_.push_back(load(index));
  x_ = buffer("x");
  y_ = buffer("y");
  z_ = buffer("z");
  coarse_ = allocate("coarse", kBytes, false);
}

Program Lab::load(size_t index, const std::string& stem) {
  auto program = gpu(index).load_program(doppel::test::kernel_file(stem + ".gfx1100.co"));
  EXPECT_TRUE(program) << program.error().to_string();
  return *std::move(program);
}

std::unique_ptr<Queue> Lab::queue(QueueKind kind, size_t index) {
  auto queue = gpu(index).create_queue({.kind = kind});
  EXPECT_TRUE(queue) << queue.error().to_string();
  return *std::move(queue);
}

Allocation Lab::buffer(const std::string& name, uint64_t bytes) {
  return allocate(name, bytes, true);
}

Allocation Lab::allocate(const std::string& name, uint64_t bytes, bool coherent) {
  auto memory = gpu().allocate(bytes, {.domain = MemoryDomain::Gtt, .coherent = coherent});
  EXPECT_TRUE(memory) << memory.error().to_string();
  for (size_t index = 1; index < devices_.size(); ++index) must(gpu(index).map(*memory));
  gpu().set_name(*memory, name);
  must(gpu().write(*memory, std::vector<std::byte>(bytes)));
  return *std::move(memory);
}

Signal& Lab::signal(int64_t initial) {
  auto signal = gpu().create_signal({.initial = initial});
  EXPECT_TRUE(signal) << signal.error().to_string();
  return signals_.emplace_back(*std::move(signal));
}

Signal& Lab::named_signal(int64_t initial) {
  Signal& named = signal(initial);
  gpu().set_name({.gpu_address = named.ref().address}, "signals");
  return named;
}

void Lab::saxpy(ComputeCommands& commands, const Allocation& x, const Allocation& y, size_t index) {
  commands.exec(programs_[index].kernel("saxpy"), args(x, y, 2.0f, kCount), kCount / kGroup,
                kGroup);
}

void Lab::settle() {
  for (auto& device : devices_) (void)device->synchronize();
}

std::span<uint32_t> packet_named(Submission& submission, std::string_view name) {
  const std::span<uint32_t> dwords = submission.commands.dwords();
  packets::PacketCursor cursor(submission.commands.language(), dwords,
                               submission.commands.family());
  for (; !cursor.done(); cursor.advance()) {
    if (cursor.packet().name() == name)
      return dwords.subspan(cursor.offset(), cursor.packet().size);
  }
  ADD_FAILURE() << "the stream has no " << name;
  return {};
}

Submission raw(const Queue& queue, std::span<const uint32_t> dwords) {
  struct RawPacket {
    std::span<const uint32_t> all;
    std::span<const uint32_t> dwords() const { return all; }
    std::span<const uint32_t> payload() const { return {}; }
  };
  Submission submission(queue.kind(), GfxFamily::Gfx11);
  submission.commands.append(RawPacket{dwords});
  return submission;
}

void remove_packets(Submission& submission, std::string_view name) {
  const std::span<uint32_t> dwords = submission.commands.dwords();
  const GfxFamily family = submission.commands.family();
  size_t removed = 0;
  for (size_t at = 0; at < dwords.size();) {
    const auto packet = packets::next_packet(packets::Language::Pm4, dwords.subspan(at), family);
    ASSERT_TRUE(packet.ok());
    if (packet.name() == name) {
      std::ranges::fill(dwords.subspan(at, packet.size), pm4::kType2Filler);
      ++removed;
    }
    at += packet.size;
  }
  EXPECT_GT(removed, 0u) << "the stream has no " << name;
}

void set_in_packets(Submission& submission, std::string_view name,
                    const packets::FieldColumns& field, uint64_t value) {
  const std::span<uint32_t> dwords = submission.commands.dwords();
  packets::PacketCursor cursor(submission.commands.language(), dwords,
                               submission.commands.family());
  size_t changed = 0;
  for (; !cursor.done(); cursor.advance()) {
    if (name != kAnyPacket && cursor.packet().name() != name) continue;
    field.in(submission.commands.family()).deposit(&dwords[cursor.offset()], value);
    ++changed;
  }
  EXPECT_GT(changed, 0u) << "the stream has no " << name;
}

FindingLog DefectTest::run(bool mended) {
  const auto& [defect, seed] = GetParam();
  Lab lab(fmt::format("mock:gfx1100,cu=2,vram=64MiB,count={},seed={}", defect.gpus, seed));
  defect.run(lab, mended);
  lab.settle();
  return lab.findings();
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return fmt::format("{}_{}", std::get<0>(info.param).name, std::get<1>(info.param));
}

TEST_P(DefectTest, IsNamed) {
  const FindingLog log = run(false);
  ASSERT_FALSE(log.empty());
  for (const Finding& each : log.findings()) {
    EXPECT_THAT(defect().rules, ::testing::Contains(each.rule)) << log.to_string();
  }
  const auto gravest = std::ranges::find(log.findings(), Severity::Error, &Finding::severity);
  const Finding& finding = gravest == log.findings().end() ? log.findings().front() : *gravest;
  for (const char* text : defect().culprits) {
    EXPECT_TRUE(std::ranges::any_of(finding.culprits,
                                    [&](const Culprit& culprit) {
                                      return culprit.to_string().find(text) != std::string::npos;
                                    }))
        << text << " is not among the culprits\n"
        << log.to_string();
  }
  EXPECT_EQ(finding.range ? finding.range->buffer : "", defect().bytes) << log.to_string();
  EXPECT_NE(finding.to_string().find("fix:"), std::string::npos);
}

TEST_P(DefectTest, IsSilentOnceMended) {
  const FindingLog log = run(true);
  EXPECT_EQ(log.to_string(), "");
}

}  // namespace doppel::verify::test
