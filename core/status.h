// Status and Result: how doppel reports an operating error (a driver that refuses, a file that is
// malformed, an argument that makes no sense). Nothing throws across a library boundary.
//
// Guest errors (a bad packet, an unmapped access) are not Statuses: see emulator/fault.h. A broken
// invariant of doppel itself is neither: see core/assert.h.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace doppel {

enum class StatusCode : uint8_t {
  InvalidArgument,  // the caller passed something that can never work
  OutOfRange,       // an index, size or address beyond a limit
  NotFound,         // a name, node, file or symbol that does not exist
  OutOfMemory,      // device or host memory is exhausted (ENOMEM)
  Exhausted,        // another bounded resource is used up (ring space, signals, queues)
  Unsupported,      // understood, and refused for good on this device or build
  Unavailable,      // no such device or driver on this machine
  System,           // the driver or the operating system failed; see Status::os_error
  Malformed,        // data that does not parse (ELF, metadata, packet)
  DeviceFault,      // the GPU reported a fault (memory access, illegal instruction, bad packet)
  Deadlock,         // nothing can run any more while work is pending
  Timeout,          // a wait's deadline passed
};

/// The symbolic name of `code`, as in "InvalidArgument".
std::string_view to_string(StatusCode code);

/// Why an operation failed: a code, the errno behind it (0 if none), and a full sentence in present
/// tense with the offending value in parentheses. Immutable value type.
class [[nodiscard]] Status {
 public:
  Status(StatusCode code, std::string message, int os_error = 0)
      : message_(std::move(message)), os_error_(os_error), code_(code) {}

  StatusCode code() const { return code_; }
  int os_error() const { return os_error_; }
  const std::string& message() const { return message_; }

  /// "DeviceFault: The queue reads unmapped memory (va 0x1000). [errno 14 EFAULT]"
  std::string to_string() const;

 private:
  std::string message_;
  int os_error_;
  StatusCode code_;
};

template <class T = void>
using Result = std::expected<T, Status>;

/// An error Result: `return error(StatusCode::NotFound, "...")`.
inline std::unexpected<Status> error(StatusCode code, std::string message, int os_error = 0) {
  return std::unexpected(Status(code, std::move(message), os_error));
}

/// The status for a driver call that returned `-os_error`; ENOMEM, ENODEV, EINVAL and their like
/// map to their own codes, the rest to System.
Status status_from_errno(int os_error, std::string message);

}  // namespace doppel

/// Evaluates a Result expression; returns its error from the enclosing function if it has one.
#define DOPPEL_TRY(expression)                                      \
  do {                                                              \
    if (auto doppel_try_result = (expression); !doppel_try_result)  \
      return std::unexpected(std::move(doppel_try_result).error()); \
  } while (false)

#define DOPPEL_CONCAT_INNER(a, b) a##b
#define DOPPEL_CONCAT(a, b) DOPPEL_CONCAT_INNER(a, b)

/// `DOPPEL_ASSIGN(auto x, make_x());` declares x from a Result, or returns its error.
#define DOPPEL_ASSIGN(declaration, expression) \
  DOPPEL_ASSIGN_INNER(DOPPEL_CONCAT(doppel_result_, __LINE__), declaration, expression)
#define DOPPEL_ASSIGN_INNER(temporary, declaration, expression)         \
  auto temporary = (expression);                                        \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  declaration = *std::move(temporary)
