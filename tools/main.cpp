// The `doppel` command.
#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  CLI::App app("doppel: a test double for AMD GPUs");
  app.require_subcommand(1);
  int status = 0;
  CLI11_PARSE(app, argc, argv);
  return status;
}
