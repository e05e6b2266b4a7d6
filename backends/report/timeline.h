// A Run as a timeline for https://ui.perfetto.dev and chrome://tracing: a process for the host and
// one for each GPU, a track for each queue's packets and its kernels, arrows for signals.
#pragma once

#include <string>

#include "backends/report/run.h"

namespace doppel::report {

/// The timeline as JSON. Times count from the earliest begin of all spans.
std::string timeline_json(const Run& run);

/// The earliest begin of all spans, 0 without any.
uint64_t origin_ns(const Run& run);

}  // namespace doppel::report
