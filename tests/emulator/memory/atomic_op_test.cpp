#include "emulator/memory/atomic_op.h"

#include <gtest/gtest.h>

#include <vector>

namespace doppel::emu {
namespace {

using packets::AtomicOp;

struct Row {
  AtomicOp op32, op64;
  uint64_t old, source, compare;
  uint64_t after32, after64;
};

// From the definitions of the GL2 atomics in the RDNA3 ISA manual (section "memory atomics").
const Row kRows[] = {
    {AtomicOp::TC_OP_ATOMIC_SWAP_32, AtomicOp::TC_OP_ATOMIC_SWAP_64, 1, 2, 0, 2, 2},
    {AtomicOp::TC_OP_ATOMIC_CMPSWAP_32, AtomicOp::TC_OP_ATOMIC_CMPSWAP_64, 1, 2, 1, 2, 2},
    {AtomicOp::TC_OP_ATOMIC_CMPSWAP_RTN_32, AtomicOp::TC_OP_ATOMIC_CMPSWAP_RTN_64, 1, 2, 3, 1, 1},
    {AtomicOp::TC_OP_ATOMIC_ADD_32, AtomicOp::TC_OP_ATOMIC_ADD_64, 0xffffffff, 1, 0, 0,
     0x1'0000'0000},
    {AtomicOp::TC_OP_ATOMIC_SUB_32, AtomicOp::TC_OP_ATOMIC_SUB_64, 0, 1, 0, 0xffffffff,
     ~uint64_t{0}},
    {AtomicOp::TC_OP_ATOMIC_SMIN_32, AtomicOp::TC_OP_ATOMIC_SMIN_64, 5, 0xffffffff, 0, 0xffffffff,
     5},
    {AtomicOp::TC_OP_ATOMIC_UMIN_32, AtomicOp::TC_OP_ATOMIC_UMIN_64, 5, 0xffffffff, 0, 5, 5},
    {AtomicOp::TC_OP_ATOMIC_SMAX_32, AtomicOp::TC_OP_ATOMIC_SMAX_64, 5, 0xffffffff, 0, 5,
     0xffffffff},
    {AtomicOp::TC_OP_ATOMIC_UMAX_32, AtomicOp::TC_OP_ATOMIC_UMAX_64, 5, 0xffffffff, 0, 0xffffffff,
     0xffffffff},
    {AtomicOp::TC_OP_ATOMIC_AND_32, AtomicOp::TC_OP_ATOMIC_AND_64, 6, 3, 0, 2, 2},
    {AtomicOp::TC_OP_ATOMIC_OR_32, AtomicOp::TC_OP_ATOMIC_OR_64, 6, 3, 0, 7, 7},
    {AtomicOp::TC_OP_ATOMIC_XOR_32, AtomicOp::TC_OP_ATOMIC_XOR_64, 6, 3, 0, 5, 5},
    {AtomicOp::TC_OP_ATOMIC_INC_32, AtomicOp::TC_OP_ATOMIC_INC_64, 6, 6, 0, 0, 0},
    {AtomicOp::TC_OP_ATOMIC_INC_RTN_32, AtomicOp::TC_OP_ATOMIC_INC_RTN_64, 5, 6, 0, 6, 6},
    {AtomicOp::TC_OP_ATOMIC_DEC_32, AtomicOp::TC_OP_ATOMIC_DEC_64, 0, 6, 0, 6, 6},
    {AtomicOp::TC_OP_ATOMIC_DEC_RTN_32, AtomicOp::TC_OP_ATOMIC_DEC_RTN_64, 7, 6, 0, 6, 6},
    {AtomicOp::TC_OP_ATOMIC_DEC_32, AtomicOp::TC_OP_ATOMIC_DEC_64, 6, 6, 0, 5, 5},
};

TEST(AtomicOp, EveryOperationOnBothSizes) {
  alignas(64) std::vector<std::byte> page(kGpuPageBytes);
  GpuVm vm;
  ASSERT_TRUE(vm.map({0x1000, kGpuPageBytes, page.data(), 3}));
  MemoryPort port(vm);
  for (const Row& row : kRows) {
    ASSERT_TRUE(is_atomic(row.op32) && is_atomic(row.op64));
    EXPECT_FALSE(is_atomic_64(row.op32));
    EXPECT_TRUE(is_atomic_64(row.op64));
    ASSERT_TRUE(port.store<uint64_t>(0x1000, 0xabcdef01'00000000 | row.old));
    EXPECT_EQ(apply_atomic(port, row.op32, 0x1000, row.source, row.compare).value(), row.old);
    EXPECT_EQ(port.load<uint64_t>(0x1000).value(), 0xabcdef01'00000000 | row.after32)
        << static_cast<uint32_t>(row.op32);
    ASSERT_TRUE(port.store<uint64_t>(0x1000, row.old));
    EXPECT_EQ(apply_atomic(port, row.op64, 0x1000, row.source, row.compare).value(), row.old);
    EXPECT_EQ(port.load<uint64_t>(0x1000).value(), row.after64) << static_cast<uint32_t>(row.op64);
  }
}

TEST(AtomicOp, OtherNumbersAreNone) {
  for (uint32_t number : {0x00u, 0x01u, 0x1au, 0x1fu, 0x20u, 0x5bu, 0x7bu, 0x80u, 0x8fu}) {
    EXPECT_FALSE(is_atomic(static_cast<AtomicOp>(number))) << number;
  }
}

}  // namespace
}  // namespace doppel::emu
