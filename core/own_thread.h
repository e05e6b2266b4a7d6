// OwnThread: counts the threads that doppel itself runs, so that those of the program can be told
// from them. One on the stack of each such thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace doppel {

class OwnThread {
 public:
  OwnThread() { ++alive; }
  ~OwnThread() { --alive; }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  static uint32_t count() { return alive; }

 private:
  static inline std::atomic<uint32_t> alive = 0;
};

}  // namespace doppel
