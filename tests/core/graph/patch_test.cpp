// A patched stream is the stream that encoding the new values afresh gives: every handle of every
// command, on every family. The handles are enumerated from the patch structs themselves, and each
// is spoilt before the new values are written: one that nothing writes would show.
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

/// Writes a random value through one handle.
using Spoil = std::function<void(std::span<uint32_t>, Prng&)>;

/// Collects the handles of patch structs. The structured bindings name every member: a new one does
/// not compile until it is here.
class Handles {
 public:
  template <class T>
  void add(const Patch<T>& patch) {
    if (!patch) return;
    spoils_.push_back([patch](std::span<uint32_t> dwords, Prng& prng) {
      auto value = static_cast<T>(prng.next());
      while (!patch.fits(value)) value = static_cast<T>(static_cast<uint64_t>(value) >> 1);
      patch.set(dwords, value);
    });
  }
  template <class T, size_t kCount>
  void add(const std::array<Patch<T>, kCount>& patches) {
    for (const Patch<T>& patch : patches) add(patch);
  }
  void add(const LaunchPatch& launch) {
    const auto& [work_items, workgroup, workgroups, full, partial, partial_en, dimensions] = launch;
    add_all(work_items, workgroup, workgroups, full, partial, partial_en, dimensions);
  }
  void add(const DispatchPatch& dispatch) {
    const auto& [dims, kernarg, packet, completion] = dispatch;
    add_all(dims, kernarg, packet, completion);
  }
  void add(const WaitPatch& wait) {
    const auto& [address, value, signal, value64] = wait;
    add_all(address, value, signal, value64);
  }
  void add(const SignalPatch& signal) {
    const auto& [address, value64, value32, mailbox, mailbox64, mailbox32, event] = signal;
    add_all(address, value64, value32, mailbox, mailbox64, mailbox32, event);
  }
  void add(const TimestampPatch& timestamp) {
    const auto& [address] = timestamp;
    add(address);
  }
  void add(const IndirectPatch& indirect) {
    const auto& [address, size] = indirect;
    add_all(address, size);
  }
  void add(const CopyPatch& copy) {
    const auto& [dst, src, count, value, stride, parts, max_part, bytes, count_bias] = copy;
    for (uint32_t part = 0; part < parts; ++part) {
      const uint32_t further = part * stride;
      add_all(dst.moved(further), src.moved(further), value.moved(further));
    }
    add(count.moved((parts - 1) * stride));  // the parts before are full
  }

  void spoil(std::span<uint32_t> dwords, Prng& prng) const {
    for (const Spoil& spoil : spoils_) spoil(dwords, prng);
  }
  size_t size() const { return spoils_.size(); }

 private:
  template <class... Parts>
  void add_all(const Parts&... parts) {
    (add(parts), ...);
  }

  std::vector<Spoil> spoils_;
};

/// What a test encodes: commands for one set of random values, and how to make those of a stream
/// that was encoded for others.
struct Encoded {
  template <class Patch>
  Encoded(const Patch& patch, std::function<void(std::span<uint32_t>)> apply)
      : apply(std::move(apply)) {
    handles.add(patch);
  }
  Handles handles;
  std::function<void(std::span<uint32_t>)> apply;
};
using Encode = std::function<Encoded(CommandStream&, Prng&)>;

void expect_patched_is_fresh(Language language, std::initializer_list<GfxFamily> families,
                             const Encode& encode) {
  for (const GfxFamily family : families) {
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Prng old_values(seed), new_values(seed + kSeeds), noise(seed + 2 * kSeeds);
      CommandStream patched(language, family), fresh(language, family);
      const Encoded old = encode(patched, old_values);
      const Encoded now = encode(fresh, new_values);
      ASSERT_TRUE(patched.check() && fresh.check()) << patched.check().error().to_string();
      ASSERT_GT(old.handles.size(), 0u);
      old.handles.spoil(patched.dwords(), noise);
      now.apply(patched.dwords());
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
  expect_patched_is_fresh(Language::Pm4, [&](CommandStream& stream, Prng& prng) -> Encoded {
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
    return {patch, [=](std::span<uint32_t> dwords) {
              patch.dims.set(dwords, command.dims);
              patch.kernarg_address.set(dwords, command.kernarg_address);
              patch.dispatch_packet_address.set(dwords, command.dispatch_packet_address);
            }};
  });
}

TEST(Patched, AqlDispatch) {
  expect_patched_is_fresh(Language::Aql, [&](CommandStream& stream, Prng& prng) -> Encoded {
    const KernelInfo info = kernel_info(stream.family());
    const DispatchCommand command{.kernel = &info,
                                  .descriptor_address = 0x7f00'1234'5600,
                                  .dims = dims(prng),
                                  .kernarg_address = address(prng, 16),
                                  .group_bytes = 1024,
                                  .scratch = {},
                                  .completion = signal(prng, false)};
    const DispatchPatch patch = AqlEncoder(stream).exec(command);
    return {patch, [=](std::span<uint32_t> dwords) {
              patch.dims.set(dwords, command.dims);
              patch.kernarg_address.set(dwords, command.kernarg_address);
              patch.completion_signal.set(dwords, command.completion.address);
            }};
  });
}

template <class Encoder>
Encoded patched_wait(CommandStream& stream, Prng& prng) {
  const SignalRef ref = signal(prng, false);
  const uint64_t value = prng.below(uint64_t{1} << 32);
  const WaitPatch patch = Encoder(stream).wait(ref, value);
  return {patch, [=](std::span<uint32_t> dwords) {
            patch.set_signal(dwords, ref);
            patch.set_value(dwords, value);
          }};
}

TEST(Patched, Waits) {
  expect_patched_is_fresh(Language::Pm4, patched_wait<Pm4Encoder>);
  expect_patched_is_fresh(Language::Sdma, patched_wait<SdmaEncoder>);
  expect_patched_is_fresh(Language::Aql, patched_wait<AqlEncoder>);
}

template <class Encoder>
Encode patched_signal(bool mailbox) {
  return [=](CommandStream& stream, Prng& prng) -> Encoded {
    const SignalRef ref = signal(prng, mailbox);
    const uint64_t value = prng.below(uint64_t{1} << 32);
    const SignalPatch patch = Encoder(stream).signal(ref, value);
    return {patch, [=](std::span<uint32_t> dwords) {
              patch.set_signal(dwords, ref);
              patch.set_value(dwords, value);
            }};
  };
}

TEST(Patched, Signals) {
  for (const bool mailbox : {false, true}) {
    expect_patched_is_fresh(Language::Pm4, patched_signal<Pm4Encoder>(mailbox));
    expect_patched_is_fresh(Language::Sdma, patched_signal<SdmaEncoder>(mailbox));
  }
}

TEST(Patched, Timestamps) {
  const auto encode = []<class Encoder>(Encoder encoder, Prng& prng) -> Encoded {
    const uint64_t where = address(prng, 8);
    const TimestampPatch patch = encoder.timestamp(where);
    return {patch, [=](std::span<uint32_t> dwords) { patch.address.set(dwords, where); }};
  };
  expect_patched_is_fresh(Language::Pm4, [&](CommandStream& stream, Prng& prng) {
    return encode(Pm4Encoder(stream), prng);
  });
  expect_patched_is_fresh(Language::Sdma, [&](CommandStream& stream, Prng& prng) {
    return encode(SdmaEncoder(stream), prng);
  });
}

TEST(Patched, IndirectBuffers) {
  const auto encode = [](Prng& prng, auto indirect) -> Encoded {
    const uint64_t where = address(prng, 32);
    const auto size = static_cast<uint32_t>(1 + prng.below(0xfffff));
    const IndirectPatch patch = indirect(where, size);
    return {patch, [=](std::span<uint32_t> dwords) {
              patch.address.set(dwords, where);
              patch.size.set(dwords, size);
            }};
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
    expect_patched_is_fresh(Language::Sdma, [&](CommandStream& stream, Prng& prng) -> Encoded {
      const uint64_t source = address(prng, 4), destination = address(prng, 4);
      const uint64_t bytes = (parts - 1) * kPart + 1 + prng.below(kPart);
      CopyPatch patch = SdmaEncoder(stream, kPart).copy(destination, source, bytes);
      return {patch, [=](std::span<uint32_t> dwords) mutable {
                patch.set_src(dwords, source);
                patch.set_dst(dwords, destination);
                EXPECT_TRUE(patch.set_bytes(dwords, bytes));
              }};
    });
  }
}

TEST(Patched, Fills) {
  for (const uint64_t parts : {1, 2, 5}) {
    expect_patched_is_fresh(Language::Sdma, [&](CommandStream& stream, Prng& prng) -> Encoded {
      const uint64_t destination = address(prng, 4);
      const auto value = static_cast<uint32_t>(prng.next());
      const uint64_t bytes = (parts - 1) * kPart + 4 + 4 * prng.below(kPart / 4);
      CopyPatch patch = SdmaEncoder(stream, kPart).fill(destination, value, bytes);
      return {patch, [=](std::span<uint32_t> dwords) mutable {
                patch.set_dst(dwords, destination);
                patch.set_value(dwords, value);
                EXPECT_TRUE(patch.set_bytes(dwords, bytes));
              }};
    });
  }
}

}  // namespace
}  // namespace doppel
