#include "core/status.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace doppel {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::InvalidArgument:
      return "InvalidArgument";
    case StatusCode::OutOfRange:
      return "OutOfRange";
    case StatusCode::NotFound:
      return "NotFound";
    case StatusCode::OutOfMemory:
      return "OutOfMemory";
    case StatusCode::Exhausted:
      return "Exhausted";
    case StatusCode::Unsupported:
      return "Unsupported";
    case StatusCode::Unavailable:
      return "Unavailable";
    case StatusCode::System:
      return "System";
    case StatusCode::Malformed:
      return "Malformed";
    case StatusCode::DeviceFault:
      return "DeviceFault";
    case StatusCode::Deadlock:
      return "Deadlock";
    case StatusCode::Timeout:
      return "Timeout";
  }
  return "?";
}

std::string Status::to_string() const {
  if (os_error_ == 0) return fmt::format("{}: {}", doppel::to_string(code_), message_);
  const char* name = strerrorname_np(os_error_);
  return fmt::format("{}: {} [errno {} {}]", doppel::to_string(code_), message_, os_error_,
                     name != nullptr ? name : "?");
}

Status status_from_errno(int os_error, std::string message) {
  StatusCode code = StatusCode::System;
  switch (os_error) {
    case ENOMEM:
      code = StatusCode::OutOfMemory;
      break;
    case ENOENT:
    case ENODEV:
    case ENXIO:
      code = StatusCode::Unavailable;
      break;
    case EINVAL:
      code = StatusCode::InvalidArgument;
      break;
    case ENOTTY:
    case EOPNOTSUPP:
      code = StatusCode::Unsupported;
      break;
    case ENOSPC:
      code = StatusCode::Exhausted;
      break;
    case ETIME:
    case ETIMEDOUT:
      code = StatusCode::Timeout;
      break;
    default:
      break;
  }
  return {code, std::move(message), os_error};
}

}  // namespace doppel
