#include "emulator/dispatch/worker_pool.h"

#include "core/own_thread.h"

namespace doppel::emu {

WorkerPool::~WorkerPool() {
  if (threads_.empty()) return;
  task_ = nullptr;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void WorkerPool::run(uint32_t count, const std::function<void(uint32_t)>& task) {
  while (threads_.size() + 1 < count) {
    const auto index = static_cast<uint32_t>(threads_.size() + 1);
    const uint32_t seen = round_.load(std::memory_order_relaxed);
    threads_.emplace_back([this, index, seen] { serve(index, seen); });
  }
  task_ = &task;
  count_ = count;
  busy_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  task(0);
  for (uint32_t left = busy_.load(std::memory_order_acquire); left != 0;
       left = busy_.load(std::memory_order_acquire)) {
    busy_.wait(left, std::memory_order_acquire);
  }
}

void WorkerPool::serve(uint32_t index, uint32_t seen) {
  const OwnThread own;
  for (;;) {
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (task_ == nullptr) return;
    if (index < count_) (*task_)(index);
    if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
  }
}

}  // namespace doppel::emu
