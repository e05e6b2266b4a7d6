// Wave32 vector-ALU instructions per second on one core, by kind of instruction and x86-64 level:
// the interpreter alone, without memory. The words are llvm-mc's, the text beside them its input.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "emulator/capi/kernel_runner.h"
#include "emulator/capi/program.h"
#include "emulator/isa/handlers.h"

namespace doppel::emu::bench {
namespace {

constexpr uint32_t kInteger[] = {
    0x4a020702,              // v_add_nc_u32 v1, v2, v3
    0x30040283,              // v_lshlrev_b32 v2, 3, v1
    0x3a060501,              // v_xor_b32 v3, v1, v2
    0xd60b0004, 0x040e0501,  // v_mad_u32_u24 v4, v1, v2, v3
    0xd6570005, 0x04120501,  // v_and_or_b32 v5, v1, v2, v4
    0x4c020705,              // v_sub_nc_u32 v1, v5, v3
    0xd6460002, 0x04050504,  // v_lshl_add_u32 v2, v4, 2, v1
    0x24060b02,              // v_max_i32 v3, v2, v5
};
constexpr uint32_t kFloat[] = {
    0xd6130001, 0x04120702,  // v_fma_f32 v1, v2, v3, v4
    0x10040701,              // v_mul_f32 v2, v1, v3
    0x06060902,              // v_add_f32 v3, v2, v4
    0x56080701,              // v_fmac_f32 v4, v1, v3
    0x080a0304,              // v_sub_f32 v5, v4, v1
    0x200c0505,              // v_max_f32 v6, v5, v2
    0xd6130001, 0x040e0d05,  // v_fma_f32 v1, v5, v6, v3
    0x1e040d01,              // v_min_f32 v2, v1, v6
};
// An address computation, a comparison, a selection and a product: what compiled code looks like.
constexpr uint32_t kMixed[] = {
    0x4a020702,              // v_add_nc_u32 v1, v2, v3
    0x30040283,              // v_lshlrev_b32 v2, 3, v1
    0x7c980501,              // v_cmp_gt_u32 vcc_lo, v1, v2
    0x02060501,              // v_cndmask_b32 v3, v1, v2, vcc_lo
    0xd6130005, 0x04120702,  // v_fma_f32 v5, v2, v3, v4
    0x10080705,              // v_mul_f32 v4, v5, v3
    0x7e020303,              // v_mov_b32 v1, v3
    0x4a040702,              // v_add_nc_u32 v2, v2, v3
};

constexpr uint32_t kBodies = 8;    // a loop's
constexpr uint32_t kLoops = 2000;  // a launch's
constexpr uint32_t kAllLanes = ~0u, kEveryOtherLane = 0x55555555;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "alu_bench: %s failed\n", what);
  std::abort();
}

/// One wave that runs `body` kBodies * kLoops times with the lanes of `exec`.
std::vector<uint32_t> loop_over(std::span<const uint32_t> body, uint32_t exec) {
  std::vector<uint32_t> code = {0xbefe00ff, exec,      // s_mov_b32 exec_lo, exec
                                0xb0040000 | kLoops};  // s_movk_i32 s4, kLoops
  const auto begin = static_cast<uint32_t>(code.size());
  for (uint32_t i = 0; i < kBodies; ++i) code.insert(code.end(), body.begin(), body.end());
  code.insert(code.end(), {0x80848104,    // s_sub_u32 s4, s4, 1
                           0xbf078004});  // s_cmp_lg_u32 s4, 0
  const uint32_t distance = begin - static_cast<uint32_t>(code.size()) - 1;
  code.push_back(0xbfa20000 | (distance & 0xffff));  // s_cbranch_scc1
  code.push_back(0xbfb00000);                        // s_endpgm
  return code;
}

void run_loop(benchmark::State& state, std::span<const uint32_t> body, uint32_t exec,
              isa::Level level) {
  isa::choose_level(level);
  KernelRunner runner;
  KernelLaunch launch;
  launch.target = find_target("gfx1100").value();
  launch.rsrc1 = 0x00af003f;  // 256 VGPRs, round to nearest even, denormals kept
  launch.workgroup = {32, 1, 1};
  Program program;
  const std::vector<uint32_t> code = loop_over(body, exec);
  require(program.load_raw(std::as_bytes(std::span(code)), runner, launch).has_value(), "load");
  uint64_t instructions = 0;
  for (auto _ : state) {
    const auto done = runner.run(launch);
    require(done.has_value(), "run");
    instructions += done->wave_instructions;
  }
  state.SetItemsProcessed(static_cast<int64_t>(instructions));
  isa::choose_level(std::nullopt);
}

void register_all() {
  struct Body {
    const char* name;
    std::span<const uint32_t> words;
    uint32_t exec;
  };
  static constexpr Body kKinds[] = {{"integer", kInteger, kAllLanes},
                                    {"float", kFloat, kAllLanes},
                                    {"mixed", kMixed, kAllLanes},
                                    {"mixed_half_the_lanes", kMixed, kEveryOtherLane}};
  for (const isa::Level level : {isa::Level::V2, isa::Level::V3, isa::Level::V4}) {
    if (!isa::has_level(level)) continue;
    for (const Body& body : kKinds) {
      const std::string name = std::string(body.name) + "/" + std::string(isa::to_string(level));
      benchmark::RegisterBenchmark(name.c_str(), [&body, level](benchmark::State& state) {
        run_loop(state, body.words, body.exec, level);
      });
    }
  }
}

}  // namespace
}  // namespace doppel::emu::bench

int main(int argc, char** argv) {
  doppel::emu::bench::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
