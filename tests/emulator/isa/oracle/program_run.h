// ProgramRun: an assembly program on the interpreter, with buffers whose addresses it finds in its
// kernarg segment, in the order they were added. s[0:1] = kernarg address, s2 = workgroup id x,
// v0 = packed work-item id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "core/target.h"
#include "emulator/capi/kernel_runner.h"
#include "emulator/capi/program.h"
#include "tests/emulator/isa/oracle/llvm_mc.h"

namespace doppel::oracle {

inline constexpr uint32_t kLanes = 32;  // of a wave32
inline constexpr uint8_t kReadOnly = 1, kReadWrite = 3;

class ProgramRun {
 public:
  /// Assembles `source` for `cpu`; throws if it does not assemble.
  ProgramRun(const std::string& cpu, const std::string& source, uint32_t wave_size = 32);
  /// Runs code that was assembled before.
  ProgramRun(const std::string& cpu, Words code, uint32_t wave_size = 32);

  /// Maps memory that the test owns; returns its address, which the kernarg segment gets too.
  uint64_t add(std::span<std::byte> memory, uint8_t permissions = kReadWrite);
  /// As add, at an address of the test's choice.
  uint64_t add_at(uint64_t address, std::span<std::byte> memory, uint8_t permissions = kReadWrite);
  template <class T>
  uint64_t add(std::vector<T>& memory, uint8_t permissions = kReadWrite) {
    return add(std::as_writable_bytes(std::span(memory)), permissions);
  }
  /// A dword of the kernarg segment that is no address.
  void add_value(uint64_t value) { kernarg_.push_back(value); }

  emu::KernelLaunch& launch() { return launch_; }

  std::expected<emu::DispatchCounters, emu::Fault> run(emu::DispatcherOptions options = {});

 private:
  struct Range {
    uint64_t address;
    std::span<std::byte> memory;
    uint8_t permissions;
  };

  Words code_;
  std::vector<Range> ranges_;
  std::vector<uint64_t> kernarg_;
  emu::KernelLaunch launch_;
};

}  // namespace doppel::oracle
