// Every command of every packet language on every family, pinned dword for dword. Review the files:
// the generations' differences stand side by side.
#include <gtest/gtest.h>

#include "core/command_encoder.h"
#include "tests/golden/golden_text.h"

namespace doppel {
namespace {

using packets::Language;

const std::vector<golden::NamedRange> kRanges = {
    {"signal", 0x7f0000001000, 64},        {"events", 0x7f0000002000, 0x1000},
    {"kernarg", 0x7f0000010000, 0x1000},   {"code", 0x7f0000020000, 0x1000},
    {"scratch", 0x7f0000100000, 0x100000}, {"ib", 0x7f0000030000, 0x1000},
    {"src", 0x7f1000000000, 0x1000000},    {"dst", 0x7f2000000000, 0x1000000},
    {"done", 0x7f0000001040, 64},          {"dependency", 0x7f0000001080, 64},
};
constexpr SignalRef kSignal{0x7f0000001000, 0x7f0000002008, 7};
constexpr SignalRef kQuiet{0x7f0000001000, 0, 0};
constexpr SignalRef kDone{0x7f0000001040, 0, 0};
constexpr SignalRef kDependency{0x7f0000001080, 0, 0};

KernelInfo kernel_for(GfxFamily family) {
  KernelInfo kernel;
  kernel.name = "saxpy";
  kernel.descriptor.compute_pgm_rsrc1 = 0x60af0001;
  kernel.descriptor.compute_pgm_rsrc2 = 0x0000009e;
  kernel.descriptor.compute_pgm_rsrc3 = 0x00000010;
  kernel.descriptor.kernel_code_properties = abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR;
  kernel.wave_size = family == GfxFamily::Gfx9_4 ? 64 : 32;
  return kernel;
}

DispatchCommand dispatch_of(const KernelInfo& kernel, LaunchDims dims) {
  DispatchCommand command;
  command.kernel = &kernel;
  command.entry_address = 0x7f0000020100;
  command.descriptor_address = 0x7f0000020040;
  command.dims = dims;
  command.kernarg_address = 0x7f0000010040;
  command.group_bytes = 1000;
  command.scratch = {0x7f0000100000, 0x00200200};
  command.completion = kDone;
  return command;
}

class CommandGolden : public testing::TestWithParam<GfxFamily> {
 protected:
  std::string file(std::string_view language) const {
    return std::string(language) + "-" + std::string(to_string(GetParam())) + ".txt";
  }
};

TEST_P(CommandGolden, Pm4) {
  test::GoldenText golden(file("pm4"));
  auto check = [&](std::string_view name, auto&& encode) {
    CommandStream stream(Language::Pm4, GetParam());
    Pm4Encoder encoder(stream);
    encode(encoder);
    golden.check(name, stream, kRanges);
  };
  KernelInfo kernel = kernel_for(GetParam());
  const auto dims = LaunchDims::from(Dim3(4, 2), Dim3(64, 2)).value();
  check("memory_barrier", [](Pm4Encoder& e) { e.memory_barrier(); });
  check("wait", [](Pm4Encoder& e) { e.wait(kSignal, 3); });
  check("wait_equal", [](Pm4Encoder& e) { e.wait(kSignal, 3, SignalCondition::Equal); });
  check("signal", [](Pm4Encoder& e) { e.signal(kSignal, 4); });
  check("signal_without_event", [](Pm4Encoder& e) { e.signal(kQuiet, 4); });
  check("signal_64", [](Pm4Encoder& e) { e.signal(kQuiet, 1ull << 40, SignalWidth::Bits64); });
  check("timestamp", [](Pm4Encoder& e) { e.timestamp(kSignal.start_ts_address()); });
  check("indirect", [](Pm4Encoder& e) { e.indirect(0x7f0000030000, 64); });
  check("exec", [&](Pm4Encoder& e) { e.exec(dispatch_of(kernel, dims)); });
  check("exec_partial_workgroup", [&](Pm4Encoder& e) {
    e.exec(dispatch_of(kernel, LaunchDims::from(WorkItems(100), Dim3(64)).value()));
  });
  kernel.descriptor.kernel_code_properties =
      abi::ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER | abi::ENABLE_SGPR_DISPATCH_PTR |
      abi::ENABLE_SGPR_KERNARG_SEGMENT_PTR | abi::ENABLE_SGPR_FLAT_SCRATCH_INIT;
  check("exec_all_user_sgprs", [&](Pm4Encoder& e) {
    DispatchCommand command = dispatch_of(kernel, dims);
    command.dispatch_packet_address = 0x7f0000010080;
    e.exec(command);
  });
}

TEST_P(CommandGolden, Sdma) {
  test::GoldenText golden(file("sdma"));
  auto check = [&](std::string_view name, auto&& encode) {
    CommandStream stream(Language::Sdma, GetParam());
    SdmaEncoder encoder(stream);
    encode(encoder);
    golden.check(name, stream, kRanges);
  };
  check("copy", [](SdmaEncoder& e) { e.copy(0x7f2000000000, 0x7f1000000000, 256); });
  check("copy_split", [](SdmaEncoder& e) { e.copy(0x7f2000000000, 0x7f1000000000, 0x400001); });
  check("copy_nothing", [](SdmaEncoder& e) { e.copy(0x7f2000000000, 0x7f1000000000, 0); });
  check("fill", [](SdmaEncoder& e) { e.fill(0x7f2000000000, 0xdeadbeef, 0x400004); });
  check("wait", [](SdmaEncoder& e) { e.wait(kSignal, 3); });
  check("signal", [](SdmaEncoder& e) { e.signal(kSignal, 4); });
  check("timestamp", [](SdmaEncoder& e) { e.timestamp(kSignal.end_ts_address()); });
  check("indirect", [](SdmaEncoder& e) { e.indirect(0x7f0000030000, 64); });
}

TEST_P(CommandGolden, Aql) {
  test::GoldenText golden(file("aql"));
  auto check = [&](std::string_view name, auto&& encode) {
    CommandStream stream(Language::Aql, GetParam());
    AqlEncoder encoder(stream);
    encode(encoder);
    golden.check(name, stream, kRanges);
  };
  const KernelInfo kernel = kernel_for(GetParam());
  check("exec", [&](AqlEncoder& e) {
    e.exec(dispatch_of(kernel, LaunchDims::from(Dim3(4, 2), Dim3(64, 2)).value()));
  });
  check("barrier_and", [](AqlEncoder& e) {
    const SignalRef dependencies[] = {kSignal, kDependency};
    e.barrier_and(dependencies, kDone);
  });
  check("barrier_or", [](AqlEncoder& e) {
    const SignalRef dependencies[] = {kDependency};
    e.barrier_or(dependencies);
  });
  check("wait", [](AqlEncoder& e) { e.wait(kSignal, 3); });
  check("indirect_pm4", [](AqlEncoder& e) { e.indirect_pm4(0x7f0000030000, 64, kDone); });
}

INSTANTIATE_TEST_SUITE_P(Families, CommandGolden,
                         testing::Values(GfxFamily::Gfx9_4, GfxFamily::Gfx10_3, GfxFamily::Gfx11,
                                         GfxFamily::Gfx12),
                         [](const auto& instance) {
                           std::string name(to_string(instance.param));
                           std::erase(name, '.');
                           return name;
                         });

}  // namespace
}  // namespace doppel
