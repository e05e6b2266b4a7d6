// The flags --pm4, --sdma and --aql, shared by the subcommands that read packet streams.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "core/packets/row.h"

namespace doppel::tools {

/// `language` is a member of `*owner`, which the flags keep alive.
inline void add_language_options(CLI::App& command, const std::shared_ptr<void>& owner,
                                 packets::Language& language) {
  CLI::Option_group* group =
      command.add_option_group("language", "What dwords are that do not say so");
  auto add = [&](const char* flag, packets::Language value, const char* what) {
    group->add_flag_callback(
        flag, [owner, target = &language, value] { *target = value; }, what);
  };
  add("--pm4", packets::Language::Pm4, "PM4 of a compute queue (default)");
  add("--sdma", packets::Language::Sdma, "SDMA");
  add("--aql", packets::Language::Aql, "AQL, 64 bytes a packet");
  group->require_option(0, 1);
}

}  // namespace doppel::tools
