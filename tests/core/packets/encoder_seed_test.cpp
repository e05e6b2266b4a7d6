// The commands' dwords, against the sequences of the Python runtime that drove these cards first,
// written out with its operands: addresses 0x7fe571bfff40 (signal), 0x7fe573232008 (mailbox).
#include <gtest/gtest.h>

#include "core/command_encoder.h"
#include "core/packets/dump.h"
#include "tests/core/packets/stream_dwords.h"

namespace doppel {
namespace {

using Dwords = std::vector<uint32_t>;

constexpr SignalRef kSignal{0x7fe571bfff40, 0x7fe573232008, 1};
constexpr SignalRef kQuietSignal{0x7fe571bfff40, 0, 0};

struct Pm4 : testing::Test {
  CommandStream stream{packets::Language::Pm4, GfxFamily::Gfx11};
  Pm4Encoder encoder{stream};
};
struct Sdma : testing::Test {
  CommandStream stream{packets::Language::Sdma, GfxFamily::Gfx11};
  SdmaEncoder encoder{stream};
};

TEST_F(Pm4, MemoryBarrier) {
  encoder.memory_barrier();
  EXPECT_EQ(dwords_of(stream),
            (Dwords{0xc0053c00, 0x43, 0xe26, 0xe27, 0xffffffff, 0xffffffff, 0x20,  //
                    0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0xc3f1}));
}

TEST_F(Pm4, Wait) {
  encoder.wait(kSignal, 2);
  EXPECT_EQ(dwords_of(stream), (Dwords{0xc0053c00, 0x15, 0x71bfff48, 0x7fe5, 2, 0xffffffff, 4}));
}

TEST_F(Pm4, SignalWithMailbox) {
  encoder.signal(kSignal, 3);
  EXPECT_EQ(dwords_of(stream),
            (Dwords{0xc0064900, 0x0070f514, 0x22000000, 0x71bfff48, 0x7fe5, 3, 0, 0,  //
                    0xc0064900, 0x0070f514, 0x22000000, 0x73232008, 0x7fe5, 1, 0, 1}));
}

TEST_F(Pm4, SignalWithoutMailbox) {
  encoder.signal(kQuietSignal, 3);
  EXPECT_EQ(dwords_of(stream),
            (Dwords{0xc0064900, 0x0070f514, 0x22000000, 0x71bfff48, 0x7fe5, 3, 0, 0}));
}

TEST_F(Pm4, Timestamp) {
  encoder.timestamp(kSignal.start_ts_address());
  EXPECT_EQ(dwords_of(stream),
            (Dwords{0xc0064900, 0x514, 0x60000000, 0x71bfff60, 0x7fe5, 0, 0, 0}));
}

TEST_F(Pm4, IndirectBuffer) {
  encoder.indirect(0x7fe571bff000, 0x40);
  EXPECT_EQ(dwords_of(stream), (Dwords{0xc0023f00, 0x71bff000, 0x7fe5, 0x800040}));
}

// The kernel of line "COMPUTE_PGM_LO = e574ed76" in the captured stream of July 2024.
TEST_F(Pm4, Exec) {
  KernelInfo kernel;
  kernel.name = "E_16";
  kernel.descriptor.compute_pgm_rsrc1 = 0x40af0001;
  kernel.descriptor.compute_pgm_rsrc2 = 0x0000009e;
  kernel.descriptor.compute_pgm_rsrc3 = 0;
  kernel.descriptor.kernel_code_properties = 0x408;
  const DispatchCommand command{.kernel = &kernel,
                                .entry_address = 0x7fe574ed7600,
                                .descriptor_address = 0,
                                .dims = LaunchDims::from(Dim3(1), Dim3(16)).value(),
                                .kernarg_address = 0x7fe570000000,
                                .dispatch_packet_address = 0,
                                .group_bytes = 0,
                                .scratch = {0x7fe558000000, 0x00200200},
                                .completion = {}};
  encoder.exec(command);
  EXPECT_EQ(
      dwords_of(stream),
      (Dwords{
          0xc0065800, 0,     0xffffffff, 0xffffffff, 0,          0,          0,          0xc3f1,  //
          0xc0067600, 0x20c, 0xe574ed76, 0x7f,       0,          0,          0xe5580000, 0x7f,    //
          0xc0027600, 0x212, 0x40af0001, 0x9e,                                                    //
          0xc0017600, 0x228, 0,  // COMPUTE_PGM_RSRC3: later revisions of that runtime set it
          0xc0017600, 0x218, 0x00200200,                                      //
          0xc0047600, 0x21b, 0,          0,          0,          0,           //
          0xc0027600, 0x216, 0xffffffff, 0xffffffff,                          //
          0xc0027600, 0x219, 0xffffffff, 0xffffffff,                          //
          0xc0047600, 0x22b, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,  //
          0xc0027600, 0x240, 0x70000000, 0x7fe5,                              //
          0xc0087600, 0x204, 0,          0,          0,          0x10,       1,          1,
          0,          0,                                      //
          0xc0017600, 0x215, 0,                               //
          0xc0031500, 1,     1,          1,          0x8005,  //
          0xc0004600, 0x407,
      }))
      << packets::dump_stream(packets::Language::Pm4, stream.dwords(), GfxFamily::Gfx11);
}

// The runtime's own GCR_REQ has the control bits 16 too low, in the range's base, where they ask
// for nothing (see the header's PAYLOAD2 fields); these are where they take effect.
TEST_F(Sdma, CopyIsSplitAndFenced) {
  encoder.copy(0x7fe574ed9000, 0x7fe5542fd000, 0x400100);
  EXPECT_EQ(dwords_of(stream),
            (Dwords{0x11, 0,        0xc3e00000, 0,          0,                           //
                    0x01, 0x3fffff, 0,          0x542fd000, 0x7fe5, 0x74ed9000, 0x7fe5,  //
                    0x01, 0x0000ff, 0,          0x546fd000, 0x7fe5, 0x752d9000, 0x7fe5,  //
                    0x11, 0,        0x80400000, 0,          0}));
}

TEST_F(Sdma, SignalWithMailbox) {
  encoder.signal(kSignal, 1);
  EXPECT_EQ(dwords_of(stream), (Dwords{0x30005, 0x71bfff48, 0x7fe5, 1,  //
                                       0x30005, 0x73232008, 0x7fe5, 1,  //
                                       0x6, 1}));
}

TEST_F(Sdma, Wait) {
  encoder.wait(kSignal, 1);
  EXPECT_EQ(dwords_of(stream), (Dwords{0xd0000008, 0x71bfff48, 0x7fe5, 1, 0xffffffff, 0x0fff0004}));
}

TEST_F(Sdma, Timestamp) {
  encoder.timestamp(kSignal.start_ts_address());
  EXPECT_EQ(dwords_of(stream), (Dwords{0x20d, 0x71bfff60, 0x7fe5}));
}

}  // namespace
}  // namespace doppel
