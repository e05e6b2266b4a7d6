// Small gfx1100 kernels as machine code, and the packets that dispatch them. The encodings are
// llvm-mc's.
#pragma once

#include <array>
#include <span>

#include "core/abi/kernel_descriptor.h"
#include "core/packets/registers.h"
#include "tests/emulator/machine.h"

namespace doppel::emu::test {

/// Nothing.
inline constexpr uint32_t kEmptyKernel[] = {0xbfb00000};  // s_endpgm

/// Each workgroup stores its id at s[0:1].
inline constexpr uint32_t kStoreIdKernel[] = {
    0x7e000280,              // v_mov_b32 v0, 0
    0x7e020202,              // v_mov_b32 v1, s2
    0xdc6a0000, 0x00000100,  // global_store_b32 v0, v1, s[0:1]
    0xbfb00000,              // s_endpgm
};

/// Each work-item adds 1 to the dword at s[0:1].
inline constexpr uint32_t kCountKernel[] = {
    0x7e000280,              // v_mov_b32 v0, 0
    0x7e020281,              // v_mov_b32 v1, 1
    0xdcd60000, 0x00000100,  // global_atomic_add_u32 v0, v1, s[0:1]
    0xbfb00000,              // s_endpgm
};

/// Reads the dword at s[0:1] until it is the workgroup's id, then stores it behind.
inline constexpr uint32_t kSpinKernel[] = {
    0x7e000280,              // v_mov_b32 v0, 0
    0xf4840000, 0xf8000000,  // loop: s_dcache_inv
    0xf40040c0, 0xf8000000,  // s_load_b32 s3, s[0:1], null glc
    0xbf89fc07,              // s_waitcnt lgkmcnt(0)
    0xbf070203,              // s_cmp_lg_u32 s3, s2
    0xbfa2fff9,              // s_cbranch_scc1 loop
    0x7e020203,              // v_mov_b32 v1, s3
    0xdc6a0004, 0x00000100,  // global_store_b32 v0, v1, s[0:1] offset:4
    0xbfb00000,              // s_endpgm
};

/// Stores the grid_size_x of the AQL packet at s[0:1] to the kernarg segment at s[2:3].
inline constexpr uint32_t kReadPacketKernel[] = {
    0xf4000100, 0xf800000c,  // s_load_b32 s4, s[0:1], 0xc
    0xbf89fc07,              // s_waitcnt lgkmcnt(0)
    0x7e000280,              // v_mov_b32 v0, 0
    0x7e020204,              // v_mov_b32 v1, s4
    0xdc6a0000, 0x00020100,  // global_store_b32 v0, v1, s[2:3]
    0xbfb00000,              // s_endpgm
};

/// Not an instruction.
inline constexpr uint32_t kIllegalKernel[] = {0xbfb00000 ^ 0x00ff0000};

struct Program {
  uint64_t code = 0;        // first instruction
  uint64_t descriptor = 0;  // kernel object
};

/// RSRC2 of a kernel that wants `user_sgprs` and the x coordinate of its workgroup behind them.
inline uint32_t rsrc2_of(uint32_t user_sgprs) {
  return regs::ComputePgmRsrc2(kFamily).user_sgpr(user_sgprs).tgid_x_en(true).value();
}

/// Places the code, and a descriptor of it that asks for user SGPRs by `properties`.
inline Program place_program(Machine& machine, std::span<const uint32_t> code,
                             uint16_t properties = abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR,
                             uint32_t user_sgprs = 2) {
  Program program;
  program.code = machine.place(code);
  program.descriptor = machine.allocate(4096);
  abi::KernelDescriptor descriptor{};
  descriptor.kernel_code_entry_byte_offset =
      static_cast<int64_t>(program.code) - static_cast<int64_t>(program.descriptor);
  descriptor.compute_pgm_rsrc2 = rsrc2_of(user_sgprs);
  descriptor.kernel_code_properties = properties | abi::ENABLE_WAVEFRONT_SIZE32;
  machine.poke(program.descriptor, descriptor);
  return program;
}

/// The registers and the packet that launch `groups` workgroups of `items` with s[0:1] = argument.
inline Stream pm4_dispatch(const Program& program, uint64_t argument, uint32_t groups = 1,
                           uint32_t items = 32) {
  const uint32_t code[] = {static_cast<uint32_t>(program.code >> 8),
                           static_cast<uint32_t>(program.code >> 40)};
  const uint32_t rsrc[] = {0, rsrc2_of(2)};
  const uint32_t threads[] = {items, 1, 1};
  const uint32_t user[] = {static_cast<uint32_t>(argument), static_cast<uint32_t>(argument >> 32)};
  auto set = [](const regs::RegisterRow& row, std::span<const uint32_t> values) {
    return pm4::SetShReg(kFamily).reg_offset(regs::sh_offset(row, kFamily)).payload(values);
  };
  Stream stream;
  stream << set(regs::COMPUTE_PGM_LO, code) << set(regs::COMPUTE_PGM_RSRC1, rsrc)
         << set(regs::COMPUTE_NUM_THREAD_X, threads) << set(regs::COMPUTE_USER_DATA_0, user)
         << pm4::DispatchDirect(kFamily).dim_x(groups).dim_y(1).dim_z(1).initiator(0x8005);
  return stream;
}

/// The packet that launches `items` work-items in workgroups of 32.
inline auto aql_dispatch(const Program& program, uint64_t kernarg, uint32_t items = 32) {
  return aql::KernelDispatch(kFamily)
      .dimensions(1)
      .workgroup_size_x(32)
      .workgroup_size_y(1)
      .workgroup_size_z(1)
      .grid_size_x(items)
      .grid_size_y(1)
      .grid_size_z(1)
      .kernel_object(program.descriptor)
      .kernarg_address(kernarg);
}

}  // namespace doppel::emu::test
