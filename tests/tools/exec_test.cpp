// The kernel sandbox: argument specifications, counters against what the source of the kernels
// says, the debugger's transcript, watches.
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/device.h"
#include "emulator/profile/lds_banks.h"
#include "tests/paths.h"
#include "tools/exec/sandbox.h"

namespace doppel::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<T> as(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

ArgSpec arg(std::string_view text) {
  auto spec = parse_arg(text);
  if (!spec) throw std::runtime_error(spec.error().to_string());
  return *std::move(spec);
}

TEST(ArgSpec, BuffersAreFilled) {
  EXPECT_THAT(as<uint32_t>(std::get<BufferSpec>(arg("buf:8")).content), ElementsAre(0u, 0u));
  EXPECT_THAT(as<uint32_t>(std::get<BufferSpec>(arg("buf:8:fill=0x11")).content),
              ElementsAre(0x11u, 0x11u));
  EXPECT_THAT(as<float>(std::get<BufferSpec>(arg("buf:8:fill=1.5f")).content),
              ElementsAre(1.5f, 1.5f));
  EXPECT_THAT(as<float>(std::get<BufferSpec>(arg("buf:12:ramp=f32")).content),
              ElementsAre(0.0f, 1.0f, 2.0f));
  EXPECT_THAT(as<int16_t>(std::get<BufferSpec>(arg("buf:6:ramp=i16")).content),
              ElementsAre(0, 1, 2));
  EXPECT_EQ(std::get<BufferSpec>(arg("buf:2KiB")).content.size(), 2048u);
}

TEST(ArgSpec, ValuesHaveTheirType) {
  EXPECT_THAT(as<int32_t>(std::get<ValueSpec>(arg("i32:-5")).bytes), ElementsAre(-5));
  EXPECT_THAT(as<uint64_t>(std::get<ValueSpec>(arg("u64:0xffffffffffffffff")).bytes),
              ElementsAre(~uint64_t{0}));
  EXPECT_THAT(as<double>(std::get<ValueSpec>(arg("f64:-0.25")).bytes), ElementsAre(-0.25));
  EXPECT_THAT(as<uint16_t>(std::get<ValueSpec>(arg("f16:1.0")).bytes), ElementsAre(0x3c00));
  EXPECT_EQ(std::get<LocalSpec>(arg("local:512")).bytes, 512u);
}

TEST(ArgSpec, NonsenseIsNamed) {
  for (const char* text :
       {"", "buf", "buf:", "buf:0", "buf:x", "buf:9GiB", "buf:16:fill=", "buf:16:fill=0x100000000",
        "buf:16:print=f33", "buf:16:what=1", "i8:128x", "i8:-129", "u8:256", "u8:-1", "i32:1:2",
        "q16:1", "local:0", "buf:5000000000"}) {
    const auto spec = parse_arg(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code(), StatusCode::InvalidArgument) << text;
    EXPECT_THAT(spec.error().message(), HasSubstr(text));
  }
  EXPECT_EQ(parse_arg("file:/no/such/file").error().code(), StatusCode::NotFound);
}

TEST(LdsBanks, TheBusiestBankDecides) {
  const auto strided = [](uint32_t bytes) {
    std::vector<uint32_t> addresses;
    for (uint32_t lane = 0; lane < 32; ++lane) addresses.push_back(lane * bytes);
    return profile::bank_cycles(std::move(addresses));
  };
  EXPECT_EQ(strided(4).needed, 1u);
  EXPECT_EQ(strided(4).conflict, 0u);
  EXPECT_EQ(strided(0).conflict, 0u) << "a broadcast";
  EXPECT_EQ(strided(8).conflict, 1u) << "two dwords in each of 16 banks";
  EXPECT_EQ(strided(16).conflict, 3u);
  EXPECT_EQ(strided(128).conflict, 31u) << "all in one bank";
  EXPECT_EQ(strided(132).conflict, 0u) << "padded by one";
  EXPECT_EQ(strided(1).needed, 1u) << "eight dwords";
}

class ExecTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Outcome> run(const std::string& stem, LaunchSpec spec) {
    const auto file = read_file(test::kernel_file(stem + "." + GetParam() + ".co"));
    if (!file) throw std::runtime_error(file.error().to_string());
    std::istringstream commands(script_);
    std::ostringstream output;
    auto outcome = exec::run(*file, spec, commands, output);
    transcript_ = output.str();
    if (!outcome) throw std::runtime_error(outcome.error().to_string());
    return *std::move(outcome);
  }

  /// 4 workgroups of 64, 200 of the 256 work-items with an element.
  LaunchSpec saxpy() {
    LaunchSpec spec;
    spec.grid = 4;
    spec.workgroup = 64;
    for (const char* text :
         {"buf:1024:ramp=f32", "buf:1024:fill=1f:print=f32x4", "f32:2.0", "u32:200"}) {
      spec.args.push_back(arg(text));
    }
    return spec;
  }

  std::string script_;
  std::string transcript_;
};

INSTANTIATE_TEST_SUITE_P(Targets, ExecTest, ::testing::Values("gfx1100", "gfx1030"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ExecTest, ResultsAndTrafficAreTheSources) {
  const auto outcome = run("saxpy", saxpy());
  ASSERT_FALSE(outcome->failure) << outcome->failure->to_string();
  const auto y = as<float>(outcome->buffers[1].content);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(y[i], i < 200 ? 2.0f * static_cast<float>(i) + 1 : 1.0f) << i;
  }
  // x and y read, y written: once an element.
  EXPECT_EQ(outcome->profile.traffic(emu::AccessMode::Read).bytes, 2 * 200 * 4u);
  EXPECT_EQ(outcome->profile.traffic(emu::AccessMode::Write).bytes, 200 * 4u);
  EXPECT_EQ(outcome->profile.traffic(emu::AccessMode::Atomic).bytes, 0u);
  // Six full half waves and a quarter, of which each touches two lines of 64 bytes.
  EXPECT_EQ(outcome->profile.traffic(emu::AccessMode::Write).lines, 13u);
  const std::string text = to_text(*outcome, true);
  EXPECT_THAT(text, HasSubstr("arg1: 1, 3, 5, 7\n"));
  EXPECT_THAT(text, HasSubstr("s_endpgm"));
  const auto json = nlohmann::json::parse(to_json(*outcome));
  EXPECT_EQ(json["mix"]["s_endpgm"], 8);
  EXPECT_EQ(json["memory"]["write"]["unique_bytes"], 800);
  EXPECT_EQ(json["lds"]["accesses"], 0);
}

TEST_P(ExecTest, EveryExecutionIsCounted) {
  const auto outcome = run("saxpy", saxpy());
  uint64_t sum = 0;
  for (const auto& [pc, site] : outcome->profile.sites()) {
    EXPECT_LE(site.active_lanes, site.all_lanes);
    sum += site.executions;
  }
  EXPECT_EQ(sum, outcome->profile.executions());
  EXPECT_EQ(outcome->profile.sites().begin()->first, outcome->entry);
  EXPECT_EQ(outcome->profile.sites().begin()->second.executions, 8u) << "each wave begins there";
}

TEST_P(ExecTest, DivergenceShows) {
  LaunchSpec spec;
  spec.kernel = "collatz";
  spec.workgroup = 32;
  for (const char* text : {"buf:128:ramp=u32", "buf:128:print=u32x8", "u32:32"}) {
    spec.args.push_back(arg(text));
  }
  const auto outcome = run("divergent", spec);
  EXPECT_THAT(to_text(*outcome, false), HasSubstr("arg1: 0, 0, 1, 7, 2, 5, 8, 16\n"));
  const auto json = nlohmann::json::parse(to_json(*outcome));
  EXPECT_GT(json["divergence"]["partial"], 100);
  EXPECT_LT(json["divergence"]["active_lanes"], json["divergence"]["all_lanes"]);
}

TEST_P(ExecTest, LdsIsCounted) {
  LaunchSpec spec;
  spec.workgroup = 256;
  for (const char* text : {"buf:1024:ramp=i32", "buf:4:print=i32", "u32:256"}) {
    spec.args.push_back(arg(text));
  }
  const auto outcome = run("reduce", spec);
  EXPECT_THAT(to_text(*outcome, false), HasSubstr("arg1: 32640\n"));
  const auto json = nlohmann::json::parse(to_json(*outcome));
  EXPECT_GT(json["lds"]["accesses"], 16);
  EXPECT_EQ(json["lds"]["conflict_cycles"], 0) << "neighbours add: no two lanes share a bank";
}

TEST_P(ExecTest, AWatchNamesTheLastWriter) {
  LaunchSpec spec = saxpy();
  spec.watches = {"arg1+0x144", "arg1+0x3fc", "arg0"};
  const auto outcome = run("saxpy", spec);
  // Element 81: the second workgroup's 18th work-item.
  const WatchResult& written = outcome->watches.at(0);
  ASSERT_TRUE(written.watch.last);
  EXPECT_EQ(written.watch.last->wave, 2u);
  EXPECT_EQ(written.watch.last->lane, 17u);
  EXPECT_EQ(written.watch.writes, 1u);
  EXPECT_EQ(written.watch.reads, 1u);
  EXPECT_THAT(written.instruction, HasSubstr("global_store"));
  EXPECT_FALSE(outcome->watches[1].watch.last);
  EXPECT_EQ(outcome->watches[1].watch.reads, 0u);
  EXPECT_EQ(outcome->watches[2].watch.reads, 1u);
  EXPECT_THAT(to_text(*outcome, false), HasSubstr("written last by wave 2, lane 17 at +0x"));
}

TEST_P(ExecTest, AScriptStepsThroughAWave) {
  script_ = "where\nstep 2\nsgprs 0 7\nvgprs 0\nstate\nmemory arg0+0x8 2\nwave 3\ncontinue\n";
  LaunchSpec spec = saxpy();
  spec.debugger.stop_at_start = true;
  const auto outcome = run("saxpy", spec);
  EXPECT_EQ(outcome->debugger_mistakes, 0u);
  EXPECT_THAT(transcript_, HasSubstr("wave 0 (workgroup 0,0,0) pc +0x0: "));
  EXPECT_THAT(transcript_, HasSubstr("> sgprs 0 7\n  s[0:7]"));
  EXPECT_THAT(transcript_, HasSubstr("  v0.8       00000008 00000009"));
  EXPECT_THAT(transcript_, HasSubstr("exec ffffffff"));
  EXPECT_THAT(transcript_, HasSubstr("  arg0+0x8   40000000 40400000\n"));
  // The same again, addresses in registers included.
  const std::string first = transcript_;
  EXPECT_EQ(run("saxpy", spec)->profile.executions(), outcome->profile.executions());
  EXPECT_EQ(transcript_, first);
}

TEST_P(ExecTest, ABreakpointStopsEachWaveThere) {
  const auto plain = run("saxpy", saxpy());
  uint64_t store = 0;
  for (const auto& [pc, site] : plain->profile.sites()) {
    if (site.mnemonic.starts_with("global_store")) store = pc - plain->entry;
  }
  ASSERT_NE(store, 0u);
  LaunchSpec spec = saxpy();
  spec.debugger.breakpoints = {store};
  for (int i = 0; i < 8; ++i) script_ += "continue\n";
  const auto outcome = run("saxpy", spec);
  size_t stops = 0;
  for (size_t at = 0; (at = transcript_.find("global_store", at)) != std::string::npos; ++at)
    ++stops;
  EXPECT_EQ(stops, plain->profile.sites().at(plain->entry + store).executions);
  EXPECT_EQ(outcome->buffers[1].content, plain->buffers[1].content);
}

TEST_P(ExecTest, MistakesAreToldAndCounted) {
  script_ =
      "jump\nsgprs 5 500\nvgprs\nmemory arg9\nmemory 0x10\nbreak\ndelete 4\nstep 0\nstep x\n"
      "wave\nwatch\n";
  LaunchSpec spec = saxpy();
  spec.debugger.stop_at_start = true;
  const auto outcome = run("saxpy", spec);
  EXPECT_EQ(outcome->debugger_mistakes, 11u) << transcript_;
  EXPECT_FALSE(outcome->failure) << "the run goes on at the end of the script";
}

TEST_P(ExecTest, AFaultIsTheKernelsAndKeepsWhatWasDone) {
  LaunchSpec spec;
  spec.kernel = "store_at";
  spec.workgroup = 32;
  for (const char* text : {"buf:128:fill=7", "u64:0x1000", "u32:5"}) spec.args.push_back(arg(text));
  const auto outcome = run("faults", spec);
  ASSERT_TRUE(outcome->failure);
  EXPECT_EQ(outcome->failure->code(), StatusCode::DeviceFault);
  EXPECT_THAT(to_text(*outcome, false), HasSubstr("FAILED: DeviceFault"));
  EXPECT_THAT(as<uint32_t>(outcome->buffers[0].content)[0], 7u);
}

TEST_P(ExecTest, ALaunchThatCanNotBeIsAnError) {
  LaunchSpec spec = saxpy();
  spec.args.pop_back();
  EXPECT_THROW(run("saxpy", spec), std::runtime_error);
  spec = saxpy();
  spec.kernel = "nobody";
  EXPECT_THROW(run("saxpy", spec), std::runtime_error);
  spec = saxpy();
  spec.watches = {"arg7"};
  EXPECT_THROW(run("saxpy", spec), std::runtime_error);
}

}  // namespace
}  // namespace doppel::exec
