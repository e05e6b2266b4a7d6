// MemoryProgram: one wave around a memory instruction under test. Lane by lane it has an address
// in v[10:11] and data in v[12:15]; v[20:23], preset to kPreset, are what it leaves. s[8:9] is the
// address of the target buffer; s[10:11] is free for the test.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/memory/gpu_vm.h"
#include "tests/emulator/isa/oracle/program_run.h"

namespace doppel::oracle {

inline constexpr uint64_t kTarget = 0x7100'0000'0000;  // address of the target buffer
inline constexpr uint32_t kPreset = 0xdddddddd;

struct LaneInput {
  uint64_t address = 0;
  uint64_t unused = 0;
  std::array<uint32_t, 4> data{};
};

class MemoryProgram {
 public:
  /// `body` may use gfx11's or, with cpu "gfx1030", gfx10.3's mnemonics.
  explicit MemoryProgram(const std::string& body, const std::string& cpu = "gfx1100",
                         uint32_t wave_size = 32);

  std::vector<LaneInput> lanes;
  uint64_t exec = ~uint64_t{0};
  uint64_t scalar = 0;            // s[10:11]
  std::vector<std::byte> target;  // mapped read-write; its address is known before
  uint8_t target_permissions = kReadWrite;
  std::vector<std::array<uint32_t, 4>> results;  // v[20:23] of each lane

  /// Further memory: address and bytes.
  std::vector<std::pair<uint64_t, std::span<std::byte>>> extra;

  /// The target as `count` elements, filled with a pattern that never repeats.
  void fill_target(size_t bytes);
  template <class T>
  T target_at(size_t offset) const {
    T value;
    std::memcpy(&value, target.data() + offset, sizeof value);
    return value;
  }
  template <class T>
  void set_target(size_t offset, T value) {
    std::memcpy(target.data() + offset, &value, sizeof value);
  }

  emu::KernelLaunch& launch() { return program_.launch(); }
  ProgramRun& program() { return program_; }
  std::expected<emu::DispatchCounters, emu::Fault> run(emu::DispatcherOptions options = {});

 private:
  static std::string source(const std::string& body, bool gfx10, uint32_t wave_size);

  ProgramRun program_;
};

}  // namespace doppel::oracle
