#include <algorithm>
#include <cstring>
#include <span>

#include "core/assert.h"
#include "emulator/capi/kernel_runner.h"
#include "tools/vectors/guest_layout.h"
#include "tools/vectors/replay.h"

namespace doppel::vectors {
namespace {

constexpr uint64_t kCaseInstructionBudget = 1'000'000;

std::span<const std::string_view> targets_of(IsaCaseArch arch) {
  static constexpr std::string_view rdna3[] = {"gfx1100", "gfx1150"};
  static constexpr std::string_view rdna4[] = {"gfx1200"};
  static constexpr std::string_view cdna[] = {"gfx950", "gfx942"};
  switch (arch) {
    case IsaCaseArch::Rdna3:
      return rdna3;
    case IsaCaseArch::Rdna4:
      return rdna4;
    case IsaCaseArch::Cdna:
      return cdna;
  }
  return {};
}

uint64_t round_up_to_page(uint64_t size) {
  return (size + emu::kGpuPageBytes - 1) / emu::kGpuPageBytes * emu::kGpuPageBytes;
}

class IsaCaseRun {
 public:
  IsaCaseRun(const IsaCase& isa_case, isa::Coverage* coverage)
      : case_(isa_case),
        runner_(
            {.instruction_budget = kCaseInstructionBudget, .workers = 1, .coverage = coverage}) {}

  std::optional<emu::Fault> run(const Target& target) {
    map(kCodeAddress, code_, case_.code, case_.code.size() + kZerosBehindCode, kReadExecute);
    map(kOutputAddress, output_, {}, case_.expected.size(), kReadWrite);
    map(kInputAddress, input_, case_.input, std::max<size_t>(case_.input.size(), 4), kReadWrite);
    const uint64_t kernarg[] = {kOutputAddress, kInputAddress};
    map(kKernargAddress, kernarg_, std::as_bytes(std::span(kernarg)), sizeof(kernarg), kRead);
    emu::KernelLaunch launch{.target = &target,
                             .program = kCodeAddress,
                             .rsrc1 = case_.rsrc1,
                             .rsrc2 = case_.rsrc2,
                             .rsrc3 = case_.rsrc3,
                             .wave_size = case_.wave_size,
                             .grid = case_.grid,
                             .workgroup = case_.block,
                             .lds_bytes = case_.lds_bytes,
                             .scratch_bytes_per_lane = case_.scratch_bytes_per_lane};
    launch.user_data[0] = static_cast<uint32_t>(kKernargAddress);
    launch.user_data[1] = static_cast<uint32_t>(kKernargAddress >> 32);
    auto done = runner_.run(launch);
    if (!done) return std::move(done).error();
    return std::nullopt;
  }

  std::span<const std::byte> output() const {
    return std::span(output_).first(case_.expected.size());
  }

 private:
  void map(uint64_t va, std::vector<std::byte>& memory, std::span<const std::byte> content,
           uint64_t size, uint8_t permissions) {
    memory.resize(round_up_to_page(std::max<uint64_t>(size, 1)));
    std::ranges::copy(content, memory.begin());
    auto mapped = runner_.map(va, memory.data(), memory.size(), permissions);
    DOPPEL_ASSERT(mapped.has_value(), "the case's ranges are disjoint");
  }

  const IsaCase& case_;
  emu::KernelRunner runner_;
  std::vector<std::byte> code_;
  std::vector<std::byte> output_;
  std::vector<std::byte> input_;
  std::vector<std::byte> kernarg_;
};

CaseOutcome replay_on(const IsaCase& isa_case, const Target& target, isa::Coverage* coverage) {
  IsaCaseRun run(isa_case, coverage);
  CaseOutcome outcome{.fault = run.run(target), .mismatch = {}, .target = &target};
  if (!outcome.fault) outcome.mismatch = compare_output(isa_case, run.output());
  return outcome;
}

emu::Fault no_target(const IsaCase& isa_case) {
  emu::Fault fault;
  fault.kind = emu::FaultKind::BadDispatch;
  fault.message = "No target is known for the case's architecture (" +
                  std::to_string(static_cast<uint32_t>(isa_case.arch)) + ").";
  return fault;
}

}  // namespace

CaseOutcome replay(const IsaCase& isa_case, isa::Coverage* coverage) {
  CaseOutcome outcome{.fault = no_target(isa_case), .mismatch = {}, .target = nullptr};
  for (std::string_view name : targets_of(isa_case.arch)) {
    const auto target = find_target(name);
    if (!target) continue;
    outcome = replay_on(isa_case, **target, coverage);
    if (!outcome.fault || outcome.fault->kind != emu::FaultKind::IllegalInstruction) break;
  }
  return outcome;
}

}  // namespace doppel::vectors
