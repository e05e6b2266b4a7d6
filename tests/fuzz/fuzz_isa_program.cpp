// Any dwords as a program of any family and wave size: it ends or faults within its budget of
// instructions, and touches nothing but the memory that is mapped for it. After a fault the rest of
// the program is tried as a program of its own.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "core/assert.h"
#include "core/target.h"
#include "emulator/capi/kernel_runner.h"
#include "emulator/capi/program.h"
#include "emulator/isa/instruction.h"

namespace {

using namespace doppel;
using namespace doppel::emu;

constexpr size_t kMapped = 1024, kGuard = 256;
constexpr uint64_t kDataAddress = 0x10000, kConstantsAddress = 0x7000'0000'0000;
constexpr uint64_t kBudget = 3000;  // instructions
constexpr int kRestarts = 8;
constexpr uint8_t kReadOnly = 1, kReadWrite = 3;

/// Memory for a program between two guards that it must not change.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::byte fill) : fill_(fill) { bytes_.fill(fill); }
  std::byte* mapped() { return bytes_.data() + kGuard; }
  bool guards_hold() const {
    const std::span<const std::byte> all(bytes_);
    return is_filled(all.first(kGuard)) && is_filled(all.last(kGuard));
  }
  bool untouched() const { return is_filled(bytes_); }

 private:
  bool is_filled(std::span<const std::byte> bytes) const {
    return std::ranges::all_of(bytes, [this](std::byte value) { return value == fill_; });
  }

  std::array<std::byte, kGuard + kMapped + kGuard> bytes_{};
  std::byte fill_;
};

void set_address(KernelLaunch& launch, size_t sgpr, uint64_t address) {
  launch.user_data[sgpr] = static_cast<uint32_t>(address);
  launch.user_data[sgpr + 1] = static_cast<uint32_t>(address >> 32);
}

/// s[0:1], s[8:9]: data; s[2:3]: constants; s[4:7]: a buffer resource of the data; s[10:15]: from
/// the input.
KernelLaunch make_launch(const Target& target, std::span<const uint8_t, 8> header) {
  KernelLaunch launch;
  launch.target = &target;
  launch.rsrc1 = 0x00af003f;  // all VGPRs, denormals kept, DX10_CLAMP, IEEE
  launch.rsrc2 = 16u << 1 | 1u << 7 | 2u << 11;
  launch.wave_size = (header[0] & 0x80) != 0 ? 64 : 32;
  launch.grid = {2, 1, 1};
  launch.workgroup = {40, 1, 1};
  launch.lds_bytes = 512;
  launch.scratch_bytes_per_lane = (header[0] & 0x40) != 0 ? 64 : 0;
  set_address(launch, 0, kDataAddress);
  set_address(launch, 2, kConstantsAddress);
  set_address(launch, 4, kDataAddress | uint64_t{header[1]} << 48);  // the stride
  launch.user_data[6] = header[2] * 8u;                              // NUM_RECORDS
  launch.user_data[7] = 0x31016fac ^ uint32_t { header[3] } << 12;   // formats, bounds checking
  set_address(launch, 8, kDataAddress + header[4]);
  for (size_t i = 10; i < 16; ++i) launch.user_data[i] = header[5] * static_cast<uint32_t>(i);
  return launch;
}

/// Runs the code; returns where it faulted, in bytes from its begin, or its size if it did not.
size_t run(std::span<const std::byte> code, KernelLaunch launch) {
  GuardedMemory data(std::byte{0x5a}), constants(std::byte{0x01});
  KernelRunner runner({.instruction_budget = kBudget});
  Program program;
  const bool ready = runner.map(kDataAddress, data.mapped(), kMapped, kReadWrite) &&
                     runner.map(kConstantsAddress, constants.mapped(), kMapped, kReadOnly) &&
                     program.load_raw(code, runner, launch);
  DOPPEL_ASSERT(ready, "a program does not load");
  const auto done = runner.run(launch);
  DOPPEL_ASSERT(data.guards_hold(), "a program writes beyond its memory");
  DOPPEL_ASSERT(constants.untouched(), "a program writes read-only memory");
  if (done) return code.size();
  DOPPEL_ASSERT(!done.error().message.empty(), "a fault says nothing");
  if (!done.error().wave) return code.size();
  return std::min<size_t>(done.error().wave->pc - launch.program, code.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 12 || size > 4096) return 0;
  constexpr std::string_view kTargets[] = {"gfx1030", "gfx1100", "gfx1150"};
  const Target& target = **find_target(kTargets[data[0] % std::size(kTargets)]);
  const KernelLaunch launch = make_launch(target, std::span<const uint8_t, 8>(data, 8));
  std::vector<uint32_t> words((size - 8) / sizeof(uint32_t));
  std::memcpy(words.data(), data + 8, words.size() * sizeof(uint32_t));
  std::span<const uint32_t> code(words);
  for (int i = 0; i < kRestarts && !code.empty();) {
    if (isa::decode(target.family, code)) {
      code = code.subspan(run(std::as_bytes(code), launch) / sizeof(uint32_t));
      ++i;
    }
    code = code.subspan(std::min<size_t>(1, code.size()));
  }
  return 0;
}
