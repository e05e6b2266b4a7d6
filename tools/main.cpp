// The `doppel` command.
#include <CLI/CLI.hpp>

#include "tools/commands.h"

int main(int argc, char** argv) {
  CLI::App app("doppel: a test double for AMD GPUs");
  app.require_subcommand(1);
  int status = 0;
  doppel::tools::add_bench_kernels(app, status);
  doppel::tools::add_compare(app, status);
  doppel::tools::add_decode(app, status);
  doppel::tools::add_diff(app, status);
  doppel::tools::add_exec(app, status);
  doppel::tools::add_info(app, status);
  doppel::tools::add_profile(app, status);
  doppel::tools::add_record(app, status);
  doppel::tools::add_replay(app, status);
  doppel::tools::add_report(app, status);
  doppel::tools::add_rules(app, status);
  doppel::tools::add_run(app, status);
  doppel::tools::add_selftest(app, status);
  doppel::tools::add_disasm(app, status);
  doppel::tools::add_trace(app, status);
  doppel::tools::add_vectors(app, status);
  doppel::tools::add_completion(app, status);
  CLI11_PARSE(app, argc, argv);
  return status;
}
