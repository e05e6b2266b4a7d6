// run_asm: the entry point of the interpreter "remu", for programs that load it.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>

#include "emulator/capi/doppel.h"
#include "emulator/capi/kernel_runner.h"
#include "emulator/capi/program.h"

namespace doppel::emu {
namespace {

constexpr uint32_t kLdsBytes = 64 * 1024;
constexpr uint32_t kScratchBytesPerLane = 64 * 1024;

// COMPUTE_PGM_RSRC1: 256 VGPRs, FLOAT_MODE 0xf0 (round to even, all denormals kept), DX10_CLAMP,
// IEEE, WGP_MODE, MEM_ORDERED: what LLVM's gfx11 kernels ask for.
constexpr uint32_t kDefaultRsrc1 = 0x60af001f;

// COMPUTE_PGM_RSRC2: user SGPRs, then the ids of the grid's dimensions, packed work-item ids.
uint32_t default_rsrc2(uint32_t dimensions) {
  const uint32_t user_sgprs = 16 - dimensions;
  const uint32_t workgroup_ids = (1u << dimensions) - 1;
  return user_sgprs << 1 | workgroup_ids << 7 | 2u << 11;
}

Result<uint32_t> register_from_environment(const char* name, uint32_t fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  errno = 0;
  const unsigned long value = std::strtoul(text, &end, 16);
  if (*end != '\0' || errno != 0 || value > UINT32_MAX) {
    return error(
        StatusCode::InvalidArgument,
        fmt::format("The environment gives no 32-bit hexadecimal number ({}={}).", name, text));
  }
  return static_cast<uint32_t>(value);
}

Result<KernelLaunch> describe_launch(std::array<uint32_t, 3> grid,
                                     std::array<uint32_t, 3> workgroup, uint64_t kernarg) {
  KernelLaunch launch{.grid = grid,
                      .workgroup = workgroup,
                      .lds_bytes = kLdsBytes,
                      .scratch_bytes_per_lane = kScratchBytesPerLane};
  DOPPEL_ASSIGN(launch.target, find_target("gfx1100"));
  const uint32_t dimensions = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
  DOPPEL_ASSIGN(launch.rsrc1, register_from_environment("DOPPEL_RUN_ASM_RSRC1", kDefaultRsrc1));
  DOPPEL_ASSIGN(launch.rsrc2,
                register_from_environment("DOPPEL_RUN_ASM_RSRC2", default_rsrc2(dimensions)));
  launch.user_data[0] = static_cast<uint32_t>(kernarg);
  launch.user_data[1] = static_cast<uint32_t>(kernarg >> 32);
  return launch;
}

Result<> run(std::span<const std::byte> code, KernelLaunch launch) {
  KernelRunner runner;
  DOPPEL_TRY(runner.map_host_process());
  Program program;
  DOPPEL_TRY(program.load_raw(code, runner, launch));
  if (auto done = runner.run(launch); !done) {
    return error(StatusCode::DeviceFault, done.error().to_string());
  }
  return {};
}

int print(const Status& status) {
  fmt::print(stderr, "run_asm: {}\n", status.message());
  return 1;
}

}  // namespace
}  // namespace doppel::emu

int run_asm(const char* code, uint32_t code_len, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t lx,
            uint32_t ly, uint32_t lz, const uint64_t* kernarg) {
  using namespace doppel;
  try {
    if (code == nullptr) {
      return emu::print(Status(StatusCode::InvalidArgument, "There is no code."));
    }
    auto launch =
        emu::describe_launch({gx, gy, gz}, {lx, ly, lz}, reinterpret_cast<uintptr_t>(kernarg));
    if (!launch) return emu::print(launch.error());
    auto done = emu::run(std::as_bytes(std::span(code, code_len)), *launch);
    return done ? 0 : emu::print(done.error());
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "run_asm: %s\n", exception.what());
    return 1;
  }
}
