// Session: the directory that holds an emulated machine's files while a client runs, and the
// janitor that removes it. The janitor is a process of its own that watches the client by pidfd, so
// that nothing stays behind however the client ends.
#pragma once

#include <string>

#include "core/status.h"

namespace doppel::tools {

/// Makes the directory and starts the janitor, which watches the calling process: the client is
/// what this process becomes by exec. System if there is no place or no process to be had.
Result<std::string> begin_session();

}  // namespace doppel::tools
