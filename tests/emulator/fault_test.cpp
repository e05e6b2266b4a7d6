#include "emulator/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppel::emu {
namespace {

TEST(Fault, PrintsEveryFactOnALineOfItsOwn) {
  Fault fault;
  fault.kind = FaultKind::UnmappedAccess;
  fault.message = "The read of 4 bytes reaches unmapped memory (va 0x5010).";
  fault.gpu = 1;
  fault.queue = 7;
  fault.packet_offset = 33;
  fault.packet = "DISPATCH_DIRECT";
  fault.wave = WaveLocation{.pc = 0x2010,
                            .program = 0x2000,
                            .kernel = "gather",
                            .workgroup = {3, 2, 1},
                            .wave = 5,
                            .lane = 31,
                            .disassembly = "global_load_b32 v0, v0, s[0:1]"};
  fault.address = 0x5010;
  fault.access_size = 4;
  fault.nearest_allocation = "vram 0x4000+0x1000 (handle 9), 16 bytes above its end";
  EXPECT_EQ(fault.to_string(),
            "UnmappedAccess: The read of 4 bytes reaches unmapped memory (va 0x5010).\n"
            "  kernel: gather\n"
            "  instruction: global_load_b32 v0, v0, s[0:1] (pc 0x2010, program 0x2000+0x10)\n"
            "  workgroup: (3, 2, 1), wave 5, lane 31\n"
            "  address: 0x5010 (read of 4 bytes)\n"
            "  nearest allocation: vram 0x4000+0x1000 (handle 9), 16 bytes above its end\n"
            "  packet: DISPATCH_DIRECT\n"
            "  packet offset: 33 dwords\n"
            "  queue: 7 of gpu 1\n");
}

TEST(Fault, LeavesOutWhatIsNotKnown) {
  Fault fault;
  fault.message = "The opcode is unknown (0x77).";
  fault.queue = 2;
  EXPECT_EQ(fault.to_string(),
            "BadPacket: The opcode is unknown (0x77).\n"
            "  queue: 2 of gpu 0\n");
}

}  // namespace
}  // namespace doppel::emu
