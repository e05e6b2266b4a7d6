#include "tests/emulator/isa/oracle/program_run.h"

#include <map>
#include <stdexcept>
#include <tuple>

namespace doppel::oracle {
namespace {

constexpr uint64_t kFirstBuffer = 0x7000'1000'0000;
constexpr uint64_t kBufferSpacing = 0x1000'0000;
constexpr uint64_t kKernarg = 0x6000'0000'0000;
constexpr uint64_t kInstructionBudget = 10'000'000;

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  return *std::move(result);
}

/// Assembled once in a test binary's life: tests run the same text on many inputs.
const Words& assembled(const std::string& cpu, const std::string& source, uint32_t wave_size) {
  static std::map<std::tuple<std::string, std::string, uint32_t>, Words> programs;
  auto [program, is_new] = programs.try_emplace({cpu, source, wave_size});
  if (is_new) program->second = LlvmMc(cpu, wave_size).assemble_program(source);
  return program->second;
}

}  // namespace

ProgramRun::ProgramRun(const std::string& cpu, const std::string& source, uint32_t wave_size)
    : ProgramRun(cpu, assembled(cpu, source, wave_size), wave_size) {}

ProgramRun::ProgramRun(const std::string& cpu, Words code, uint32_t wave_size)
    : code_(std::move(code)) {
  launch_.target = value_or_throw(find_target(cpu));
  launch_.rsrc1 = 0x00af003f;                    // all VGPRs, denormals kept, DX10_CLAMP, IEEE
  launch_.rsrc2 = 2u << 1 | 1u << 7 | 2u << 11;  // two user SGPRs, id x, work-item ids x, y, z
  launch_.wave_size = wave_size;
  launch_.workgroup = {wave_size, 1, 1};
  launch_.lds_bytes = 65536;
}

uint64_t ProgramRun::add(std::span<std::byte> memory, uint8_t permissions) {
  return add_at(kFirstBuffer + ranges_.size() * kBufferSpacing, memory, permissions);
}

uint64_t ProgramRun::add_at(uint64_t address, std::span<std::byte> memory, uint8_t permissions) {
  ranges_.push_back({address, memory, permissions});
  kernarg_.push_back(address);
  return address;
}

std::expected<emu::DispatchCounters, emu::Fault> ProgramRun::run(emu::DispatcherOptions options) {
  options.instruction_budget = kInstructionBudget;
  emu::KernelRunner runner(options);
  const auto map = [&](uint64_t address, std::span<std::byte> memory, uint8_t permissions) {
    auto mapped = runner.map(address, memory.data(), memory.size(), permissions);
    if (!mapped) throw std::runtime_error(mapped.error().to_string());
  };
  for (const Range& range : ranges_) map(range.address, range.memory, range.permissions);
  if (!kernarg_.empty()) {
    map(kKernarg, std::as_writable_bytes(std::span(kernarg_)), kReadOnly);
    launch_.user_data[0] = static_cast<uint32_t>(kKernarg);
    launch_.user_data[1] = static_cast<uint32_t>(kKernarg >> 32);
  }
  emu::Program program;
  auto loaded = program.load_raw(std::as_bytes(std::span(code_)), runner, launch_);
  if (!loaded) throw std::runtime_error(loaded.error().to_string());
  return runner.run(launch_);
}

}  // namespace doppel::oracle
