// FaultPlan: what goes wrong on an emulated machine, and when. A text, one fault a line:
//
//   ioctl AMDKFD_IOC_CREATE_QUEUE 2 ENOMEM   # the second such call fails
//   ioctl * 5+ EINTR                         # every call from the fifth on
//   mmap 1 ENOMEM                            # the first mapping of a device file
//   interrupt 3 lost                         # the third interrupt never reaches the process
//
// Calls are counted by line, from 1. What follows '#' is a comment. The first line that wants a
// call to fail decides how.
//
// Value type. Not thread-safe: the VirtualKernel's lock guards it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace doppel::mock {

class FaultPlan {
 public:
  FaultPlan() = default;

  /// InvalidArgument, naming the line and what is wrong with it.
  static Result<FaultPlan> parse(std::string_view text);
  /// As read_text_file(), and as parse().
  static Result<FaultPlan> load(const std::string& path);

  /// The errno (positive) that this call fails with, or 0. `name` as in the kernel's headers, with
  /// or without AMDKFD_IOC_ or DRM_IOCTL_ before it.
  int on_ioctl(std::string_view name);
  int on_mmap() { return decide(Kind::Mmap, {}); }
  /// Whether this interrupt is lost.
  bool on_interrupt() { return decide(Kind::Interrupt, {}) != 0; }

  bool empty() const { return faults_.empty(); }

 private:
  enum class Kind : uint8_t { Ioctl, Mmap, Interrupt };
  struct Fault {
    Kind kind = Kind::Ioctl;
    std::string name;  // of an ioctl; "*": any
    uint64_t first = 1, last = 1;
    int os_error = 1;    // of a lost interrupt: just not 0
    uint64_t calls = 0;  // so far
  };

  static Result<Fault> parse_line(std::string_view line);
  int decide(Kind kind, std::string_view name);

  std::vector<Fault> faults_;
};

}  // namespace doppel::mock
