// A patched stream is the stream that encoding the new values afresh gives: every field of every
// command that can be patched, on every family.
#include <array>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/command_encoder.h"
#include "core/packets/dump.h"
#include "core/prng.h"

namespace doppel {
namespace {

using packets::Language;

constexpr std::array kFamilies = {GfxFamily::Gfx9_4, GfxFamily::Gfx10_3, GfxFamily::Gfx11,
                                  GfxFamily::Gfx11_5, GfxFamily::Gfx12};
constexpr uint64_t kSeeds = 200;

uint64_t address(Prng& prng, uint64_t alignment) {
  return prng.below((uint64_t{1} << 47) / alignment) * alignment;
}

SignalRef signal(Prng& prng, bool mailbox) {
  SignalRef ref{.address = address(prng, 64)};
  if (mailbox) {
    ref.mailbox_address = address(prng, 8) + 8;
    ref.event_id = static_cast<uint32_t>(1 + prng.below(255));
  }
  return ref;
}

LaunchDims dims(Prng& prng) {
  LaunchDims dims;
  for (size_t axis = 0; axis < 3; ++axis) {
    dims.workgroup[axis] = static_cast<uint32_t>(1 + prng.below(axis == 0 ? 256 : 2));
    dims.work_items[axis] = static_cast<uint32_t>(1 + prng.below(1 << 20));
    if (prng.below(2)) dims.work_items[axis] = dims.workgroup[axis] * 7;
  }
  return dims;
}

/// A kernel with every user SGPR that PM4 can fill.
KernelInfo kernel_info(GfxFamily family) {
  KernelInfo info;
  info.name = "kernel";
  info.wave_size = family == GfxFamily::Gfx9_4 ? 64 : 32;
  info.descriptor.kernel_code_properties =
      abi::ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER | abi::ENABLE_SGPR_DISPATCH_PTR |
      abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR | abi::ENABLE_WAVEFRONT_SIZE32;
  return info;
}

/// What a test encodes and patches: `encode` appends commands for one set of random values and
/// returns how to patch them into a stream that was encoded for another.
using Apply = std::function<void(std::span<uint32_t>)>;
using Encode = std::function<Apply(CommandStream&, Prng&)>;

void expect_patched_is_fresh(Language language, std::initializer_list<GfxFamily> families,
                             const Encode& encode) {
  for (const GfxFamily family : families) {
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Prng old_values(seed), new_values(seed + kSeeds);
      CommandStream patched(language, family), fresh(language, family);
      encode(patched, old_values);
      const Apply apply = encode(fresh, new_values);
      ASSERT_TRUE(patched.check() && fresh.check()) << patched.check().error().to_string();
      apply(patched.dwords());
      ASSERT_EQ(std::vector(patched.dwords().begin(), patched.dwords().end()),
                std::vector(fresh.dwords().begin(), fresh.dwords().end()))
          << fmt::format("{}, seed {}", to_string(family), seed);
      const packets::DumpOptions options;
      ASSERT_EQ(packets::dump_stream(language, patched.dwords(), family, options),
                packets::dump_stream(language, fresh.dwords(), family, options));
    }
  }
}

void expect_patched_is_fresh(Language language, const Encode& encode) {
  expect_patched_is_fresh(
      language, {kFamilies[0], kFamilies[1], kFamilies[2], kFamilies[3], kFamilies[4]}, encode);
}

TEST(Patched, Pm4Dispatch) {
  expect_patched_is_fresh(Language::Pm4, [&](CommandStream& stream, Prng& prng) -> Apply {
    const KernelInfo info = kernel_info(stream.family());
    const DispatchCommand command{.kernel = &info,
                                  .entry_address = 0x7f00'1234'5600,
                                  .dims = dims(prng),
                                  .kernarg_address = address(prng, 16),
                                  .dispatch_packet_address = address(prng, 64) + 64,
                                  .group_bytes = 1024,
                                  .scratch = {0x7e00'0000'0000, 0x40},
                                  .completion = {}};
    const DispatchPatch patch = Pm4Encoder(stream).exec(command);
    return [=](std::span<uint32_t> dwords) {
      patch.dims.set(dwords, command.dims);
      patch.kernarg_address.set(dwords, command.kernarg_address);
      patch.dispatch_packet_address.set(dwords, command.dispatch_packet_address);
    };
  });
}

TEST(Patched, AqlDispatch) {
  expect_patched_is_fresh(Language::Aql, [&](CommandStream& stream, Prng& prng) -> Apply {
    const KernelInfo info = kernel_info(stream.family());
    const DispatchCommand command{.kernel = &info,
                                  .descriptor_address = 0x7f00'1234'5600,
                                  .dims = dims(prng),
                                  .kernarg_address = address(prng, 16),
                                  .group_bytes = 1024,
                                  .scratch = {},
                                  .completion = signal(prng, false)};
    const DispatchPatch patch = AqlEncoder(stream).exec(command);
    return [=](std::span<uint32_t> dwords) {
      patch.dims.set(dwords, command.dims);
      patch.kernarg_address.set(dwords, command.kernarg_address);
      patch.completion_signal.set(dwords, command.completion.address);
    };
  });
}

template <class Encoder>
Apply patched_wait(CommandStream& stream, Prng& prng) {
  const SignalRef ref = signal(prng, false);
  const uint64_t value = prng.below(uint64_t{1} << 32);
  const WaitPatch patch = Encoder(stream).wait(ref, value);
  return [=](std::span<uint32_t> dwords) {
    patch.set_signal(dwords, ref);
    patch.set_value(dwords, value);
  };
}

TEST(Patched, Waits) {
  expect_patched_is_fresh(Language::Pm4, patched_wait<Pm4Encoder>);
  expect_patched_is_fresh(Language::Sdma, patched_wait<SdmaEncoder>);
  expect_patched_is_fresh(Language::Aql, patched_wait<AqlEncoder>);
}

template <class Encoder>
Encode patched_signal(bool mailbox) {
  return [=](CommandStream& stream, Prng& prng) -> Apply {
    const SignalRef ref = signal(prng, mailbox);
    const uint64_t value = prng.below(uint64_t{1} << 32);
    const SignalPatch patch = Encoder(stream).signal(ref, value);
    return [=](std::span<uint32_t> dwords) {
      patch.set_signal(dwords, ref);
      patch.set_value(dwords, value);
    };
  };
}

TEST(Patched, Signals) {
  for (const bool mailbox : {false, true}) {
    expect_patched_is_fresh(Language::Pm4, patched_signal<Pm4Encoder>(mailbox));
    expect_patched_is_fresh(Language::Sdma, patched_signal<SdmaEncoder>(mailbox));
  }
}

TEST(Patched, Timestamps) {
  const auto encode = []<class Encoder>(Encoder encoder, Prng& prng) -> Apply {
    const uint64_t where = address(prng, 8);
    const TimestampPatch patch = encoder.timestamp(where);
    return [=](std::span<uint32_t> dwords) { patch.address.set(dwords, where); };
  };
  expect_patched_is_fresh(Language::Pm4, [&](CommandStream& stream, Prng& prng) {
    return encode(Pm4Encoder(stream), prng);
  });
  expect_patched_is_fresh(Language::Sdma, [&](CommandStream& stream, Prng& prng) {
    return encode(SdmaEncoder(stream), prng);
  });
}

TEST(Patched, IndirectBuffers) {
  const auto encode = [](Prng& prng, auto indirect) -> Apply {
    const uint64_t where = address(prng, 32);
    const auto size = static_cast<uint32_t>(1 + prng.below(0xfffff));
    const IndirectPatch patch = indirect(where, size);
    return [=](std::span<uint32_t> dwords) {
      patch.address.set(dwords, where);
      patch.size.set(dwords, size);
    };
  };
  expect_patched_is_fresh(Language::Pm4, [&](CommandStream& stream, Prng& prng) {
    return encode(prng, [&](uint64_t where, uint32_t size) {
      return Pm4Encoder(stream).indirect(where, size);
    });
  });
  expect_patched_is_fresh(Language::Sdma, [&](CommandStream& stream, Prng& prng) {
    return encode(prng, [&](uint64_t where, uint32_t size) {
      return SdmaEncoder(stream).indirect(where, size);
    });
  });
  expect_patched_is_fresh(Language::Aql, [&](CommandStream& stream, Prng& prng) {
    return encode(prng, [&](uint64_t where, uint32_t size) {
      return AqlEncoder(stream).indirect_pm4(where, size);
    });
  });
}

// Small parts make transfers of several packets.
constexpr uint64_t kPart = 4096;

TEST(Patched, Copies) {
  for (const uint64_t parts : {1, 2, 5}) {
    expect_patched_is_fresh(Language::Sdma, [&](CommandStream& stream, Prng& prng) -> Apply {
      const uint64_t source = address(prng, 4), destination = address(prng, 4);
      const uint64_t bytes = (parts - 1) * kPart + 1 + prng.below(kPart);
      CopyPatch patch = SdmaEncoder(stream, kPart).copy(destination, source, bytes);
      return [=](std::span<uint32_t> dwords) mutable {
        patch.set_src(dwords, source);
        patch.set_dst(dwords, destination);
        EXPECT_TRUE(patch.set_bytes(dwords, bytes));
      };
    });
  }
}

TEST(Patched, Fills) {
  for (const uint64_t parts : {1, 2, 5}) {
    expect_patched_is_fresh(Language::Sdma, [&](CommandStream& stream, Prng& prng) -> Apply {
      const uint64_t destination = address(prng, 4);
      const auto value = static_cast<uint32_t>(prng.next());
      const uint64_t bytes = (parts - 1) * kPart + 4 + 4 * prng.below(kPart / 4);
      CopyPatch patch = SdmaEncoder(stream, kPart).fill(destination, value, bytes);
      return [=](std::span<uint32_t> dwords) mutable {
        patch.set_dst(dwords, destination);
        patch.set_value(dwords, value);
        EXPECT_TRUE(patch.set_bytes(dwords, bytes));
      };
    });
  }
}

}  // namespace
}  // namespace doppel
