// CallLog: driver calls as one JSON object a line. The format of RecordingKernel, of `doppel run
// --trace` and of `doppel trace` alike:
//
//   {"call":"ioctl","fd":3,"name":"MAP_MEMORY_TO_GPU","number":24,
//    "in":["0x1","0x0",...],"out":[...],"gpus":[4660],"rc":0}
//   {"call":"mmap","address":"0x0","length":8192,"protection":3,"flags":1,"fd":4,
//    "offset":"0x100000000","result":"0x7f12c0000000"}
//
// `in` and `out` are the argument's dwords before and after; both are read as the kernel reads
// them, so that a bad pointer is an empty list and no crash. Safe to use from several threads: a
// line is written whole, and flushed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>

#include "backends/kfd/kfd_driver.h"

namespace doppel::kfd {

/// How the lines show addresses and dwords: "0x1c".
std::string hex(uint64_t value);

class CallLog {
 public:
  /// The symbolic name of an ioctl, "?" for one that has none.
  using Namer = std::string_view (*)(unsigned long request);

  /// `log` outlives this.
  explicit CallLog(std::ostream& log, Namer name = &ioctl_name) : log_(log), name_(name) {}

  void open(const char* path, int flags, int result);
  void close(int fd, int result);
  /// Carries out `call` and writes what it was and what came of it: its result.
  int ioctl(int fd, unsigned long request, const void* argument, const std::function<int()>& call);
  /// `os_error`: of a call that failed, else 0.
  void mmap(const void* address, size_t length, int protection, int flags, int fd, uint64_t offset,
            const void* result, int os_error);
  void munmap(const void* address, size_t length, int result);

  /// A line of the caller's own.
  void write(const std::string& line);

 private:
  std::mutex mutex_;
  std::ostream& log_;
  const Namer name_;
};

}  // namespace doppel::kfd
