#include "backends/report/run.h"

#include <algorithm>

namespace doppel::report {

std::string_view to_string(SpanKind kind) {
  switch (kind) {
    case SpanKind::Packet:
      return "packet";
    case SpanKind::Wait:
      return "wait";
    case SpanKind::Kernel:
      return "kernel";
    case SpanKind::HostCall:
      return "call";
  }
  return "?";
}

std::string_view to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::Submission:
      return "submission";
    case NodeKind::Kernel:
      return "kernel";
    case NodeKind::Transfer:
      return "transfer";
  }
  return "?";
}

std::string_view to_string(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::Submission:
      return "submission";
    case EdgeKind::Queue:
      return "queue";
    case EdgeKind::Signal:
      return "signal";
  }
  return "?";
}

uint32_t Run::actor_named(std::string_view name) const {
  const auto found = std::ranges::find(actors, name, &Actor::name);
  return found == actors.end() ? kHost : static_cast<uint32_t>(found - actors.begin());
}

}  // namespace doppel::report
