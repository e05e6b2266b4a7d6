#include "emulator/capi/doppel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>

#include "emulator/capi/kernel_runner.h"
#include "emulator/capi/program.h"

namespace doppel::emu {
namespace {

constexpr uint32_t kAllAccess = DOPPEL_READ | DOPPEL_WRITE | DOPPEL_EXECUTE;
static_assert(DOPPEL_READ == static_cast<int>(Access::Read));
static_assert(DOPPEL_WRITE == static_cast<int>(Access::Write));
static_assert(DOPPEL_EXECUTE == static_cast<int>(Access::Execute));

doppel_result to_result(StatusCode code) {
  switch (code) {
    case StatusCode::Malformed:
    case StatusCode::NotFound:
    case StatusCode::Unsupported:
      return DOPPEL_MALFORMED_CODE;
    case StatusCode::OutOfMemory:
      return DOPPEL_OUT_OF_MEMORY;
    default:
      return DOPPEL_INVALID_ARGUMENT;
  }
}

doppel_result to_result(FaultKind kind) {
  switch (kind) {
    case FaultKind::BadDispatch:
      return DOPPEL_INVALID_ARGUMENT;
    case FaultKind::InstructionBudget:
      return DOPPEL_BUDGET_EXCEEDED;
    default:
      return DOPPEL_FAULT;
  }
}

doppel_result report(const doppel_launch& launch, doppel_result result, std::string_view text) {
  if (launch.report != nullptr && launch.report_size != 0) {
    const size_t size = std::min(text.size(), launch.report_size - 1);
    std::memcpy(launch.report, text.data(), size);
    launch.report[size] = '\0';
  }
  return result;
}

doppel_result report(const doppel_launch& launch, const Status& status) {
  return report(launch, to_result(status.code()), status.message());
}

Result<> check(const doppel_launch& launch) {
  const auto invalid = [](std::string message) {
    return error(StatusCode::InvalidArgument, std::move(message));
  };
  if (launch.code == nullptr || launch.code_size == 0) return invalid("There is no code.");
  if (launch.code_kind != DOPPEL_CODE_OBJECT && launch.code_kind != DOPPEL_CODE_RAW) {
    return invalid(fmt::format("The kind of code is unknown ({}).", launch.code_kind));
  }
  if (launch.ranges == nullptr && launch.range_count != 0) {
    return invalid(fmt::format("There are {} ranges at a null pointer.", launch.range_count));
  }
  if (launch.code_kind == DOPPEL_CODE_RAW && launch.target == nullptr) {
    return invalid("Raw code needs the name of its target.");
  }
  return {};
}

Result<> map_ranges(const doppel_launch& launch, KernelRunner& runner) {
  for (const doppel_range& range : std::span(launch.ranges, launch.range_count)) {
    if (range.access == 0 || (range.access & ~kAllAccess) != 0) {
      return error(StatusCode::InvalidArgument,
                   fmt::format("The access of a range is made of read, write and execute (0x{:x}).",
                               range.access));
    }
    DOPPEL_TRY(runner.map(range.address, static_cast<std::byte*>(range.host), range.size,
                          static_cast<uint8_t>(range.access)));
  }
  return {};
}

Result<KernelLaunch> prepare(const doppel_launch& launch, Program& program, KernelRunner& runner) {
  KernelLaunch result{.wave_size = 32};
  std::ranges::copy(launch.grid, result.grid.begin());
  std::ranges::copy(launch.workgroup, result.workgroup.begin());
  result.lds_bytes = launch.lds_bytes;
  result.scratch_bytes_per_lane = launch.scratch_bytes_per_lane;
  const std::span code(static_cast<const std::byte*>(launch.code), launch.code_size);
  if (launch.target != nullptr) {
    DOPPEL_ASSIGN(result.target, find_target(launch.target));
  }
  if (launch.code_kind == DOPPEL_CODE_OBJECT) {
    const std::string_view kernel = launch.kernel != nullptr ? launch.kernel : "";
    DOPPEL_TRY(program.load_object(code, kernel, launch.kernarg, runner, result));
    return result;
  }
  std::ranges::copy(launch.user_data, result.user_data.begin());
  result.rsrc1 = launch.rsrc1;
  result.rsrc2 = launch.rsrc2;
  result.rsrc3 = launch.rsrc3;
  if (launch.wave_size != 0) result.wave_size = launch.wave_size;
  DOPPEL_TRY(program.load_raw(code, runner, result));
  return result;
}

doppel_result run_kernel(doppel_launch& launch) {
  if (auto valid = check(launch); !valid) return report(launch, valid.error());
  DispatcherOptions options;
  if (launch.instruction_budget != 0) options.instruction_budget = launch.instruction_budget;
  options.workers = std::clamp(launch.workers, 1u, 256u);
  KernelRunner runner(options);
  if (auto mapped = map_ranges(launch, runner); !mapped) return report(launch, mapped.error());
  Program program;
  auto prepared = prepare(launch, program, runner);
  if (!prepared) return report(launch, prepared.error());
  auto done = runner.run(*prepared);
  if (!done) return report(launch, to_result(done.error().kind), done.error().to_string());
  launch.wave_instructions = done->wave_instructions;
  launch.waves = done->waves;
  return DOPPEL_OK;
}

}  // namespace
}  // namespace doppel::emu

doppel_result doppel_run_kernel(doppel_launch* launch) {
  if (launch == nullptr || launch->struct_size != sizeof(doppel_launch)) {
    return DOPPEL_INVALID_ARGUMENT;
  }
  try {
    return doppel::emu::run_kernel(*launch);
  } catch (const std::bad_alloc&) {
    return doppel::emu::report(*launch, DOPPEL_OUT_OF_MEMORY, "The host is out of memory.");
  } catch (const std::exception& exception) {
    return doppel::emu::report(*launch, DOPPEL_INVALID_ARGUMENT, exception.what());
  }
}
