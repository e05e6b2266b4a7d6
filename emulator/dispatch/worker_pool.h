// WorkerPool: threads that do one task together with the thread that asks for it. They are started
// by the first run() that needs them and sleep in between.
//
// Used by one thread at a time. Tasks must not throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace doppel::emu {

class WorkerPool {
 public:
  WorkerPool() = default;
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Calls task(0) here and task(1) to task(count - 1) on the pool's threads; returns when all are
  /// done.
  void run(uint32_t count, const std::function<void(uint32_t)>& task);

 private:
  void serve(uint32_t index, uint32_t seen);

  const std::function<void(uint32_t)>* task_ = nullptr;  // nullptr: the threads end
  uint32_t count_ = 0;                                   // who takes part in the round
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace doppel::emu
