#pragma once

/// Prints the driver's version, as it is told at this time of the process's life.
void ask_driver(const char* when);
