// The errors that many places report, made in one place.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/status.h"

namespace doppel {

inline std::unexpected<Status> invalid(std::string message) {
  return error(StatusCode::InvalidArgument, std::move(message));
}

inline std::unexpected<Status> malformed(std::string message) {
  return error(StatusCode::Malformed, std::move(message));
}

/// The same error, with who met it before its text: "kernel 3 (saxpy): ...".
inline std::unexpected<Status> prefixed(const std::string& who, const Status& status) {
  return error(status.code(), fmt::format("{}: {}", who, status.message()), status.os_error());
}

}  // namespace doppel
