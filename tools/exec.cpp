// doppel exec FILE.co: runs one kernel on files and fills, and says what it did.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/device.h"
#include "tools/commands.h"
#include "tools/exec/sandbox.h"

namespace doppel::tools {
namespace {

using namespace doppel::exec;

constexpr const char* kExecExamples = R"(Arguments, in the kernel's order (--arg may be repeated):
  buf:BYTES[:fill=V][:ramp=TYPE][:out=FILE][:print=TYPE[xN]]   a buffer; V repeats as a dword
  file:PATH[:bytes=N][:out=FILE][:print=TYPE[xN]]              a buffer with a file's content
  i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 : VALUE            a value
  local:BYTES                                                  LDS of the kernel's own
TYPE is one of these, or x32 (hexadecimal dwords); V is 7, 0x3f800000 or 1.5f.
Examples:
  doppel exec saxpy.gfx1100.co --kernel saxpy --grid 4 --block 256 --arg buf:4096:ramp=f32 \
      --arg buf:4096:fill=1f:print=f32x8 --arg f32:2.0 --arg u32:1024
  doppel exec k.co --grid 8,2 --block 32,4 --arg file:in.bin --arg buf:1MiB:out=out.bin --annotate
  doppel exec k.co --grid 1 --block 64 --arg buf:256 --watch arg0+0x10
  printf 'step 3\nsgprs 0 7\nvgprs 0\ncontinue\n' | doppel exec k.co --step --arg buf:256
In --step and at --break the commands come from standard input: step [N], continue, break PC,
delete PC, wave N|all, where, sgprs [A [B]], vgprs A [B], state, memory ADDR [N], watch ADDR,
detach. PC counts bytes from the kernel's first instruction; ADDR is arg0, arg0+0x40 or 0x...
The run goes on at the end of the input.
Exit status: 0 the kernel ended, 1 it failed or a command made no sense, 2 no launch.)";

struct ExecOptions {
  std::string path;
  LaunchSpec launch;
  std::vector<std::string> args;
  std::vector<uint32_t> grid{1}, block{1};
  std::vector<std::string> breakpoints;
  bool json = false;
  bool annotate = false;
};

Dim3 to_dim3(const std::vector<uint32_t>& values) {
  return {values[0], values.size() > 1 ? values[1] : 1, values.size() > 2 ? values[2] : 1};
}

Result<> complete(ExecOptions& options) {
  options.launch.grid = to_dim3(options.grid);
  options.launch.workgroup = to_dim3(options.block);
  for (const std::string& text : options.args) {
    DOPPEL_ASSIGN(options.launch.args.emplace_back(), parse_arg(text));
  }
  for (const std::string& text : options.breakpoints) {
    DOPPEL_ASSIGN(options.launch.debugger.breakpoints.emplace_back(), parse_integer(text));
  }
  return {};
}

Result<> write_outputs(const Outcome& outcome) {
  for (const BufferResult& buffer : outcome.buffers) {
    const std::string& path = buffer.spec.out;
    if (path.empty()) continue;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(buffer.content.data()),
               static_cast<std::streamsize>(buffer.content.size()));
    if (!file.flush()) {
      return error(StatusCode::System, fmt::format("The file can't be written ({}).", path));
    }
  }
  return {};
}

/// True if the kernel ended well.
Result<bool> execute(ExecOptions& options) {
  DOPPEL_TRY(complete(options));
  DOPPEL_ASSIGN(const auto file, read_file(options.path));
  // With --json standard output is the report's alone.
  std::ostream& transcript = options.json ? std::cerr : std::cout;
  DOPPEL_ASSIGN(const auto outcome, exec::run(file, options.launch, std::cin, transcript));
  std::cout.flush();
  fmt::print("{}", options.json ? to_json(*outcome) + "\n" : to_text(*outcome, options.annotate));
  DOPPEL_TRY(write_outputs(*outcome));
  return !outcome->failure && outcome->debugger_mistakes == 0;
}

int run_exec(ExecOptions& options) {
  const auto ended = execute(options);
  if (!ended) {
    fmt::print(stderr, "doppel exec: {}\n", ended.error().to_string());
    return 2;
  }
  return *ended ? 0 : 1;
}

}  // namespace

void add_exec(CLI::App& app, int& status) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command =
      app.add_subcommand("exec", "Run one kernel on an emulated GPU; show what it did");
  command->footer(kExecExamples);
  command->add_option("file", options->path, "Code object")->required()->check(CLI::ExistingFile);
  command->add_option("--kernel", options->launch.kernel, "Which kernel, if there are several");
  command->add_option("--grid", options->grid, "Workgroups: X[,Y[,Z]]")
      ->delimiter(',')
      ->expected(1, 3);
  command->add_option("--block", options->block, "Work-items of a workgroup: X[,Y[,Z]]")
      ->delimiter(',')
      ->expected(1, 3);
  command->add_option("--arg", options->args, "An argument; see below")->take_all()->expected(1);
  command->add_option("--gpu", options->launch.machine,
                      "Emulated machine (mock:MODEL,...); by default one of the code's target");
  command->add_option("--lds", options->launch.dynamic_group_bytes, "Bytes of dynamic LDS");
  command->add_option("--watch", options->launch.watches, "Say who wrote this address last")
      ->expected(1)
      ->take_all();
  command->add_flag("--step", options->launch.debugger.stop_at_start,
                    "Stop before the first instruction");
  command->add_option("--break", options->breakpoints, "Stop at this offset of an instruction")
      ->expected(1)
      ->take_all();
  command->add_flag("--annotate", options->annotate, "Also the counters of each instruction");
  command->add_flag("--json", options->json, "The report as JSON");
  command->callback([options, &status] { status = run_exec(*options); });
}

}  // namespace doppel::tools
