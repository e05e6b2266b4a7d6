// What libdoppel_early_client.so offers to its program.
#pragma once

/// Prints the driver's version, as it is told at this time of the process's life.
[[gnu::visibility("default")]] void ask_driver(const char* when);
