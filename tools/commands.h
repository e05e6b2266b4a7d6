// The subcommands of `doppel`: each lives in its own file and registers itself with one function
// here. A command's callback stores the process's exit status in `status` (0 unless it says
// otherwise) and writes its errors to stderr.
#pragma once

namespace CLI {
class App;
}

namespace doppel::tools {

/// Of --isa-coverage, which several commands have.
inline constexpr const char* kCoverageHelp =
    "Write which instructions were executed to this file (.json: JSON, \"-\": standard output)";

void add_bench_kernels(CLI::App& app, int& status);
void add_completion(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_decode(CLI::App& app, int& status);
void add_diff(CLI::App& app, int& status);
void add_exec(CLI::App& app, int& status);
void add_info(CLI::App& app, int& status);
void add_profile(CLI::App& app, int& status);
void add_record(CLI::App& app, int& status);
void add_replay(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_rules(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_selftest(CLI::App& app, int& status);
void add_disasm(CLI::App& app, int& status);
void add_trace(CLI::App& app, int& status);
void add_vectors(CLI::App& app, int& status);

}  // namespace doppel::tools
