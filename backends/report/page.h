// A Run as a page: one HTML file that needs nothing else, with findings, timeline, the graph of
// what orders what, and each kernel's counters.
#pragma once

#include <string>

#include "backends/report/run.h"

namespace doppel::report {

std::string to_html(const Run& run);

/// What the page draws, as JSON.
std::string to_json(const Run& run);

}  // namespace doppel::report
