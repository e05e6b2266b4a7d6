#include "tests/emulator/isa/memory/memory_program.h"

#include <fmt/format.h>

namespace doppel::oracle {

MemoryProgram::MemoryProgram(const std::string& body, const std::string& cpu, uint32_t wave_size)
    : lanes(wave_size),
      results(wave_size),
      program_(cpu, source(body, cpu == "gfx1030", wave_size), wave_size) {}

void MemoryProgram::fill_target(size_t bytes) {
  target.resize(bytes);
  for (size_t i = 0; i < bytes; ++i) target[i] = static_cast<std::byte>(i * 37 + (i >> 8) * 11 + 5);
}

std::string MemoryProgram::source(const std::string& body, bool gfx10, uint32_t wave_size) {
  const char* load = gfx10 ? "global_load_dword" : "global_load_b";
  return fmt::format(R"(
    s_load_{0} s[4:11], s[0:1], 0x0
    s_load_{1} s[12:13], s[0:1], 0x20
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v1, 5, v0
    v_lshlrev_b32 v2, 4, v0
    s_waitcnt lgkmcnt(0)
    {2} v[10:11], v1, s[6:7]
    {3} v[12:15], v1, s[6:7] offset:16
    v_mov_b32 v20, 0x{4:x}
    v_mov_b32 v21, 0x{4:x}
    v_mov_b32 v22, 0x{4:x}
    v_mov_b32 v23, 0x{4:x}
    s_waitcnt vmcnt(0)
    s_mov_b{5} exec{6}, s{7}
    {8}
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_mov_b{5} exec{6}, -1
    {9} v2, v[20:23], s[4:5]
    s_endpgm
)",
                     gfx10 ? "dwordx8" : "b256", gfx10 ? "dwordx2" : "b64",
                     std::string(load) + (gfx10 ? "x2" : "64"),
                     std::string(load) + (gfx10 ? "x4" : "128"), kPreset, wave_size,
                     wave_size == 32 ? "_lo" : "", wave_size == 32 ? "12" : "[12:13]", body,
                     gfx10 ? "global_store_dwordx4" : "global_store_b128");
}

std::expected<emu::DispatchCounters, emu::Fault> MemoryProgram::run(
    emu::DispatcherOptions options) {
  program_.add(results);
  program_.add(lanes, kReadOnly);
  if (target.empty()) target.resize(4);
  program_.add_at(kTarget, target, target_permissions);
  program_.add_value(scalar);
  program_.add_value(exec);
  for (auto [address, memory] : extra) program_.add_at(address, memory);
  return program_.run(options);
}

}  // namespace doppel::oracle
