// Parses machine specifications: "mock:gfx1100,cu=4,vram=1GiB,count=2,seed=7".
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "backends/mock/device_profile.h"
#include "backends/mock/fault_plan.h"
#include "backends/mock/persona.h"
#include "backends/mock/schedule_record.h"

namespace doppel::mock {
namespace {

constexpr std::string_view kScheme = "mock:";
constexpr std::string_view kProfile = "profile=";

struct Unit {
  std::string_view suffix;
  uint64_t bytes;
};
constexpr std::array kUnits = {Unit{"KiB", uint64_t{1} << 10}, Unit{"MiB", uint64_t{1} << 20},
                               Unit{"GiB", uint64_t{1} << 30}, Unit{"K", uint64_t{1} << 10},
                               Unit{"M", uint64_t{1} << 20},   Unit{"G", uint64_t{1} << 30}};

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    auto count = parse_number(text.substr(0, text.size() - unit.suffix.size()));
    if (!count || *count > UINT64_MAX / unit.bytes) return std::nullopt;
    return *count * unit.bytes;
  }
  return parse_number(text);
}

std::unexpected<Status> bad_setting(std::string_view key, std::string_view value,
                                    std::string_view expected) {
  return error(
      StatusCode::InvalidArgument,
      fmt::format("The setting {} of the GPU specification is {} ({}).", key, expected, value));
}

/// What a specification says, before it becomes GPUs.
struct Settings {
  DeviceProfile gpu;
  MachineProfile machine;
  uint64_t count = 1;
};

Result<> set_number(std::string_view key, std::string_view value, uint64_t least, uint64_t most,
                    uint64_t& target) {
  auto number = parse_number(value);
  if (!number || *number < least || *number > most)
    return bad_setting(key, value, fmt::format("not a number from {} to {}", least, most));
  target = *number;
  return {};
}

Result<> set_number(std::string_view key, std::string_view value, uint64_t least, uint64_t most,
                    uint32_t& target) {
  uint64_t wide = 0;
  DOPPEL_TRY(set_number(key, value, least, most, wide));
  target = static_cast<uint32_t>(wide);
  return {};
}

Result<> set_bytes(std::string_view key, std::string_view value, uint64_t least, uint64_t most,
                   uint64_t& target) {
  auto bytes = parse_bytes(value);
  if (!bytes || *bytes < least || *bytes > most || *bytes % 4096 != 0)
    return bad_setting(
        key, value, fmt::format("not whole pages from {} MiB to {} GiB", least >> 20, most >> 30));
  target = *bytes;
  return {};
}

/// Keeps shader engines and arrays such that each array holds a CU.
void fit_arrays(DeviceProfile& gpu) {
  while (gpu.array_count() > gpu.compute_units && gpu.shader_engines > 1) --gpu.shader_engines;
  if (gpu.array_count() > gpu.compute_units) gpu.arrays_per_engine = 1;
  while (gpu.compute_units % gpu.array_count() != 0 && gpu.shader_engines > 1) --gpu.shader_engines;
  if (gpu.compute_units % gpu.array_count() != 0) gpu.arrays_per_engine = 1;
}

Result<> apply(Settings& settings, std::string_view key, std::string_view value) {
  DeviceProfile& gpu = settings.gpu;
  if (key == "cu") {
    DOPPEL_TRY(set_number(key, value, 1, 256, gpu.compute_units));
    fit_arrays(gpu);
    return {};
  }
  if (key == "vram")
    return set_bytes(key, value, uint64_t{64} << 20, uint64_t{256} << 30, gpu.vram_bytes);
  if (key == "memory")
    return set_bytes(key, value, uint64_t{1} << 30, uint64_t{4096} << 30,
                     settings.machine.host_memory_bytes);
  if (key == "count") return set_number(key, value, 1, kMaxGpus, settings.count);
  if (key == "seed") return set_number(key, value, 0, UINT64_MAX, settings.machine.seed);
  if (key == "pct") return set_number(key, value, 1, 64, settings.machine.pct_depth);
  if (key == "schedule") {
    DOPPEL_ASSIGN(ScheduleRecord record, ScheduleRecord::load(std::string(value)));
    settings.machine.recorded_schedule = std::make_shared<ScheduleRecord>(std::move(record));
    return {};
  }
  if (key == "faults") {
    DOPPEL_ASSIGN(FaultPlan plan, FaultPlan::load(std::string(value)));
    settings.machine.faults = std::make_shared<FaultPlan>(std::move(plan));
    return {};
  }
  if (key == "sdma") return set_number(key, value, 1, 8, gpu.sdma_engines);
  if (key == "workers") return set_number(key, value, 1, 256, settings.machine.workers);
  if (key == "instructions")
    return set_number(key, value, 1, UINT64_MAX, settings.machine.instruction_budget);
  if (key == "kfd") {
    if (!value.starts_with("1.")) return bad_setting(key, value, "not 1.MINOR");
    return set_number(key, value.substr(2), 11, 18, settings.machine.kfd_minor_version);
  }
  if (key == "bar") {
    if (value != "large" && value != "small")
      return bad_setting(key, value, "neither large nor small");
    gpu.large_bar = value == "large";
    return {};
  }
  return error(
      StatusCode::InvalidArgument,
      fmt::format(
          "The GPU specification has an unknown setting ({}); known are cu, vram, "
          "count, seed, pct, schedule, faults, sdma, workers, instructions, bar, memory and "
          "kfd.",
          key));
}

/// Of a recorded machine only how it is emulated can be set, not what it is.
Result<> check_recorded(std::string_view key) {
  static constexpr std::string_view kKeys[] = {"seed",   "pct",     "schedule",
                                               "faults", "workers", "instructions"};
  if (std::ranges::find(kKeys, key) != std::end(kKeys)) return {};
  return error(
      StatusCode::InvalidArgument,
      fmt::format("A recorded machine takes the settings seed, pct, schedule, faults, workers and "
                  "instructions only ({}).",
                  key));
}

}  // namespace

Result<MachineProfile> parse_machine(std::string_view specification) {
  std::string_view rest = specification;
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  const size_t comma = rest.find(',');
  const std::string_view model = rest.substr(0, comma);
  const bool recorded = model.starts_with(kProfile);
  Settings settings;
  if (recorded) {
    DOPPEL_ASSIGN(settings.machine, load_persona(std::string(model.substr(kProfile.size()))));
  } else {
    DOPPEL_ASSIGN(settings.gpu, find_device_profile(model));
  }
  std::set<std::string_view> seen;
  for (size_t at = comma; at != std::string_view::npos;) {
    const size_t next = rest.find(',', at + 1);
    const std::string_view part = rest.substr(at + 1, next - at - 1);
    at = next;
    const size_t equals = part.find('=');
    if (!seen.insert(part.substr(0, equals)).second) {
      return error(StatusCode::InvalidArgument,
                   fmt::format("The GPU specification sets the same twice ({}).", part));
    }
    if (equals == std::string_view::npos)
      return error(StatusCode::InvalidArgument,
                   fmt::format("A setting of the GPU specification lacks its value ({}).", part));
    if (recorded) DOPPEL_TRY(check_recorded(part.substr(0, equals)));
    DOPPEL_TRY(apply(settings, part.substr(0, equals), part.substr(equals + 1)));
  }
  if (!recorded) settings.machine.gpus.assign(settings.count, settings.gpu);
  return settings.machine;
}

}  // namespace doppel::mock
