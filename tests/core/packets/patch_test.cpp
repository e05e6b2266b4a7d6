// A patched stream equals the one that encodes the new values afresh, for every patch of every
// command on every family.
#include <gtest/gtest.h>

#include "core/command_encoder.h"
#include "tests/core/packets/stream_dwords.h"

namespace doppel {
namespace {

using packets::Language;
using Dwords = std::vector<uint32_t>;

constexpr SignalRef kOld{0x7f0000001000, 0x7f0000002008, 7};
constexpr SignalRef kNew{0x7e1234567880, 0x7e0000abc010, 0xabc};

struct PatchTest : testing::TestWithParam<GfxFamily> {
  CommandStream patched(Language language) const { return {language, GetParam()}; }

  template <class Encode>
  Dwords fresh(Language language, Encode&& encode) const {
    CommandStream stream(language, GetParam());
    encode(stream);
    return dwords_of(stream);
  }
};

KernelInfo kernel_with(uint16_t properties, uint32_t wave_size = 64) {
  KernelInfo kernel;
  kernel.wave_size = wave_size;
  kernel.name = "k";
  kernel.descriptor.kernel_code_properties = properties;
  return kernel;
}

DispatchCommand command_of(const KernelInfo& kernel, LaunchDims dims, uint64_t kernarg,
                           uint64_t packet, uint64_t completion) {
  DispatchCommand command;
  command.kernel = &kernel;
  command.entry_address = 0x7f0000020100;
  command.descriptor_address = 0x7f0000020040;
  command.dims = dims;
  command.kernarg_address = kernarg;
  command.dispatch_packet_address = packet;
  command.completion = {completion, 0, 0};
  return command;
}

const LaunchDims kSmall = LaunchDims::from(Dim3(1), Dim3(64)).value();
const LaunchDims kLarge = LaunchDims::from(WorkItems(1000, 7, 3), Dim3(32, 4, 2)).value();

TEST_P(PatchTest, Pm4Dispatch) {
  const KernelInfo kernel =
      kernel_with(abi::ENABLE_SGPR_DISPATCH_PTR | abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR);
  for (const auto& [from, to] : {std::pair(kSmall, kLarge), std::pair(kLarge, kSmall)}) {
    CommandStream stream = patched(Language::Pm4);
    Pm4Encoder(stream).memory_barrier();
    const DispatchPatch patch =
        Pm4Encoder(stream).exec(command_of(kernel, from, 0x7f0000010000, 0x7f0000011000, 0));
    patch.dims.set(stream.dwords(), to);
    patch.kernarg_address.set(stream.dwords(), 0x123456789a00);
    patch.dispatch_packet_address.set(stream.dwords(), 0x23456789ab40);
    EXPECT_EQ(dwords_of(stream), fresh(Language::Pm4, [&](CommandStream& other) {
                Pm4Encoder(other).memory_barrier();
                Pm4Encoder(other).exec(command_of(kernel, to, 0x123456789a00, 0x23456789ab40, 0));
              }));
  }
}

TEST_P(PatchTest, AqlDispatch) {
  const KernelInfo kernel = kernel_with(0);
  for (const auto& [from, to] : {std::pair(kSmall, kLarge), std::pair(kLarge, kSmall)}) {
    CommandStream stream = patched(Language::Aql);
    const DispatchPatch patch =
        AqlEncoder(stream).exec(command_of(kernel, from, 0x7f0000010000, 0, 0x1000));
    patch.dims.set(stream.dwords(), to);
    patch.kernarg_address.set(stream.dwords(), 0x123456789a00);
    patch.completion_signal.set(stream.dwords(), 0x2000);
    EXPECT_EQ(dwords_of(stream), fresh(Language::Aql, [&](CommandStream& other) {
                AqlEncoder(other).exec(command_of(kernel, to, 0x123456789a00, 0, 0x2000));
              }));
  }
}

TEST_P(PatchTest, Waits) {
  CommandStream pm4 = patched(Language::Pm4), sdma = patched(Language::Sdma),
                aql = patched(Language::Aql);
  const WaitPatch patches[] = {Pm4Encoder(pm4).wait(kOld, 1), SdmaEncoder(sdma).wait(kOld, 1),
                               AqlEncoder(aql).wait(kOld, 1)};
  size_t index = 0;
  for (CommandStream* stream : {&pm4, &sdma, &aql}) {
    patches[index].set_signal(stream->dwords(), kNew);
    patches[index++].set_value(stream->dwords(), 0xfffffffe);
  }
  EXPECT_EQ(dwords_of(pm4),
            fresh(Language::Pm4, [](auto& s) { Pm4Encoder(s).wait(kNew, 0xfffffffe); }));
  EXPECT_EQ(dwords_of(sdma),
            fresh(Language::Sdma, [](auto& s) { SdmaEncoder(s).wait(kNew, 0xfffffffe); }));
  EXPECT_EQ(dwords_of(aql),
            fresh(Language::Aql, [](auto& s) { AqlEncoder(s).wait(kNew, 0xfffffffe); }));
}

TEST_P(PatchTest, Signals) {
  CommandStream pm4 = patched(Language::Pm4), sdma = patched(Language::Sdma);
  const SignalPatch of_pm4 = Pm4Encoder(pm4).signal(kOld, 1);
  of_pm4.set_signal(pm4.dwords(), kNew);
  of_pm4.set_value(pm4.dwords(), 99);
  EXPECT_EQ(dwords_of(pm4), fresh(Language::Pm4, [](auto& s) { Pm4Encoder(s).signal(kNew, 99); }));
  const SignalPatch of_sdma = SdmaEncoder(sdma).signal(kOld, 1);
  of_sdma.set_signal(sdma.dwords(), kNew);
  of_sdma.set_value(sdma.dwords(), 99);
  EXPECT_EQ(dwords_of(sdma),
            fresh(Language::Sdma, [](auto& s) { SdmaEncoder(s).signal(kNew, 99); }));
}

TEST_P(PatchTest, Timestamps) {
  CommandStream pm4 = patched(Language::Pm4), sdma = patched(Language::Sdma);
  Pm4Encoder(pm4).timestamp(0x1000).address.set(pm4.dwords(), 0x7e1234567880);
  SdmaEncoder(sdma).timestamp(0x1000).address.set(sdma.dwords(), 0x7e1234567880);
  EXPECT_EQ(dwords_of(pm4),
            fresh(Language::Pm4, [](auto& s) { Pm4Encoder(s).timestamp(0x7e1234567880); }));
  EXPECT_EQ(dwords_of(sdma),
            fresh(Language::Sdma, [](auto& s) { SdmaEncoder(s).timestamp(0x7e1234567880); }));
}

TEST_P(PatchTest, IndirectBuffers) {
  CommandStream pm4 = patched(Language::Pm4), sdma = patched(Language::Sdma),
                aql = patched(Language::Aql);
  const IndirectPatch patches[] = {Pm4Encoder(pm4).indirect(0x1000, 8),
                                   SdmaEncoder(sdma).indirect(0x1000, 8),
                                   AqlEncoder(aql).indirect_pm4(0x1000, 8)};
  size_t index = 0;
  for (CommandStream* stream : {&pm4, &sdma, &aql}) {
    patches[index].address.set(stream->dwords(), 0x7e1234567880);
    patches[index++].size.set(stream->dwords(), 0x12345);
  }
  EXPECT_EQ(dwords_of(pm4),
            fresh(Language::Pm4, [](auto& s) { Pm4Encoder(s).indirect(0x7e1234567880, 0x12345); }));
  EXPECT_EQ(dwords_of(sdma), fresh(Language::Sdma, [](auto& s) {
              SdmaEncoder(s).indirect(0x7e1234567880, 0x12345);
            }));
  EXPECT_EQ(dwords_of(aql), fresh(Language::Aql, [](auto& s) {
              AqlEncoder(s).indirect_pm4(0x7e1234567880, 0x12345);
            }));
}

TEST_P(PatchTest, CopiesAndFills) {
  constexpr uint64_t kOldSize = 2 * kSdmaMaxTransfer + 4, kNewSize = 3 * kSdmaMaxTransfer;
  CommandStream copy = patched(Language::Sdma), fill = patched(Language::Sdma);
  CopyPatch of_copy = SdmaEncoder(copy).copy(0x1000, 0x2000, kOldSize);
  of_copy.set_dst(copy.dwords(), 0x7e1234567000);
  of_copy.set_src(copy.dwords(), 0x7d1234567fff);
  ASSERT_TRUE(of_copy.set_bytes(copy.dwords(), kNewSize).has_value());
  EXPECT_EQ(dwords_of(copy), fresh(Language::Sdma, [&](auto& s) {
              SdmaEncoder(s).copy(0x7e1234567000, 0x7d1234567fff, kNewSize);
            }));
  CopyPatch of_fill = SdmaEncoder(fill).fill(0x1000, 5, kOldSize);
  of_fill.set_dst(fill.dwords(), 0x7e1234567000);
  ASSERT_TRUE(of_fill.set_bytes(fill.dwords(), kNewSize).has_value());
  EXPECT_EQ(dwords_of(fill), fresh(Language::Sdma, [&](auto& s) {
              SdmaEncoder(s).fill(0x7e1234567000, 5, kNewSize);
            }));
}

TEST_P(PatchTest, ASizeThatNeedsOtherPacketsIsRefused) {
  CommandStream stream = patched(Language::Sdma);
  CopyPatch patch = SdmaEncoder(stream).copy(0x1000, 0x2000, 100);
  const Dwords before = dwords_of(stream);
  for (uint64_t bytes : {uint64_t{0}, kSdmaMaxTransfer + 1}) {
    const auto refused = patch.set_bytes(stream.dwords(), bytes);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), StatusCode::InvalidArgument);
  }
  EXPECT_EQ(dwords_of(stream), before);
}

INSTANTIATE_TEST_SUITE_P(Families, PatchTest,
                         testing::Values(GfxFamily::Gfx9_4, GfxFamily::Gfx10_3, GfxFamily::Gfx11,
                                         GfxFamily::Gfx12),
                         [](const auto& instance) {
                           std::string name(to_string(instance.param));
                           std::erase(name, '.');
                           return name;
                         });

TEST(CommandStream, APacketThatDoesNotFitIsDroppedWhole) {
  CommandStream stream(Language::Pm4, GfxFamily::Gfx11, 10);
  Pm4Encoder encoder(stream);
  const WaitPatch first = encoder.wait(kOld, 1);
  const WaitPatch second = encoder.wait(kOld, 2);
  encoder.indirect(0x1000, 1);  // would fit, but the stream is broken already
  EXPECT_EQ(stream.size(), 7u);
  EXPECT_EQ(stream.packet_starts().size(), 1u);
  EXPECT_TRUE(static_cast<bool>(first.value));
  EXPECT_FALSE(static_cast<bool>(second.value));
  const auto result = stream.check();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), StatusCode::Exhausted);
  stream.clear();
  encoder.indirect(0x1000, 1);
  EXPECT_TRUE(stream.check().has_value());
  EXPECT_EQ(stream.size(), 4u);
}

TEST(CommandStream, AWave32KernelIsRefusedWhereThereAreNone) {
  CommandStream stream(Language::Pm4, GfxFamily::Gfx9_4);
  const KernelInfo kernel = kernel_with(0, 32);
  Pm4Encoder(stream).exec(command_of(kernel, kSmall, 0, 0, 0));
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.check().error().message(), "The GPU has no waves of 32 (k on gfx9.4).");
  EXPECT_TRUE(stream.empty());
}

TEST(CommandStream, ErrorsNameWhatIsWrong) {
  auto error_of = [](Language language, auto&& encode) {
    CommandStream stream(language, GfxFamily::Gfx11);
    encode(stream);
    EXPECT_FALSE(stream.ok());
    return stream.ok() ? std::string() : stream.check().error().message();
  };
  EXPECT_EQ(error_of(Language::Pm4, [](auto& s) { Pm4Encoder(s).wait(kOld, 1ull << 32); }),
            "The device compares 32 bits of a signal, and the wanted value has more "
            "(0x100000000).");
  EXPECT_EQ(error_of(Language::Sdma, [](auto& s) { SdmaEncoder(s).signal(kOld, 1ull << 32); }),
            "A fence stores 32 bits, and the value has more (0x100000000).");
  EXPECT_EQ(error_of(Language::Sdma, [](auto& s) { SdmaEncoder(s).fill(0x1002, 1, 8); }),
            "A fill repeats 32 bits, and its range is not made of such (0x1002, 8 bytes).");
  EXPECT_EQ(error_of(Language::Pm4, [](auto& s) { Pm4Encoder(s).indirect(0x1002, 8); }),
            "The indirect buffer cannot be run (0x1002, 8 dwords).");
  const KernelInfo queue_reader = kernel_with(abi::ENABLE_SGPR_QUEUE_PTR);
  EXPECT_EQ(
      error_of(Language::Pm4,
               [&](auto& s) { Pm4Encoder(s).exec(command_of(queue_reader, kSmall, 0, 0, 0)); }),
      "The kernel reads its queue, which only an AQL queue has (k).");
  const KernelInfo packet_reader = kernel_with(abi::ENABLE_SGPR_DISPATCH_PTR);
  EXPECT_EQ(
      error_of(Language::Pm4,
               [&](auto& s) { Pm4Encoder(s).exec(command_of(packet_reader, kSmall, 0, 0, 0)); }),
      "The kernel reads its dispatch packet, and none is given (k).");
  EXPECT_EQ(error_of(Language::Sdma,
                     [](auto& s) {
                       SdmaEncoder(s).signal({0x1000, 0x2000, 0x10000000}, 1);
                     }),
            "The event's id does not fit a trap (0x10000000).");
  const KernelInfo plain = kernel_with(0);
  DispatchCommand huge = command_of(plain, kSmall, 0, 0, 0);
  huge.dims.workgroup = {70000, 1, 1};
  EXPECT_EQ(error_of(Language::Pm4, [&](auto& s) { Pm4Encoder(s).exec(huge); }),
            "The workgroup is larger than the hardware's field (70000 work-items, at most 65535).");
  EXPECT_EQ(error_of(Language::Aql, [&](auto& s) { AqlEncoder(s).exec(huge); }),
            "The workgroup is larger than the hardware's field (70000 work-items, at most 65535).");
  DispatchCommand hungry = command_of(plain, kSmall, 0, 0, 0);
  hungry.group_bytes = 1u << 20;
  EXPECT_EQ(error_of(Language::Pm4, [&](auto& s) { Pm4Encoder(s).exec(hungry); }),
            "The kernel wants more LDS than the hardware's field holds (1048576 bytes, at most "
            "261632).");
  EXPECT_EQ(error_of(Language::Aql,
                     [](auto& s) {
                       const SignalRef six[6] = {};
                       AqlEncoder(s).barrier_and(six);
                     }),
            "A barrier packet takes at most 5 signals (6 given).");
}

}  // namespace
}  // namespace doppel
