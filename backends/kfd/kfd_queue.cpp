#include "backends/kfd/kfd_queue.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "core/errors.h"
#include "core/verify/host_observer.h"

namespace doppel::kfd {
namespace {

constexpr uint32_t kMinRingBytes = 4096;
constexpr uint32_t kMaxRingBytes = 1u << 30;
constexpr auto kSpaceTimeout = std::chrono::seconds(30);

uint32_t driver_type(QueueKind kind) {
  switch (kind) {
    case QueueKind::Pm4:
      return KFD_IOC_QUEUE_TYPE_COMPUTE;
    case QueueKind::Aql:
      return KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
    case QueueKind::Sdma:
      return KFD_IOC_QUEUE_TYPE_SDMA;
  }
  return KFD_IOC_QUEUE_TYPE_COMPUTE;
}

Result<> check(const QueueOptions& options) {
  if (options.kind != QueueKind::Pm4 && options.kind != QueueKind::Aql &&
      options.kind != QueueKind::Sdma) {
    return invalid(
        fmt::format("There is no such kind of queue ({}).", static_cast<unsigned>(options.kind)));
  }
  const uint32_t bytes = options.ring_bytes;
  if (bytes < kMinRingBytes || bytes > kMaxRingBytes || (bytes & (bytes - 1)) != 0) {
    return invalid(fmt::format("The ring's size ({} bytes) is no power of two from {} to {}.",
                               bytes, kMinRingBytes, kMaxRingBytes));
  }
  if (options.priority > KFD_MAX_QUEUE_PRIORITY) {
    return invalid(fmt::format("The queue's priority ({}) is above {}.", options.priority,
                               KFD_MAX_QUEUE_PRIORITY));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<KfdQueue>> KfdQueue::create(std::shared_ptr<DeviceCore> core,
                                                   const QueueOptions& options) {
  DOPPEL_TRY(check(options));
  std::unique_ptr<KfdQueue> queue(new KfdQueue(std::move(core), options));
  DOPPEL_TRY(queue->allocate_buffers(options));
  DOPPEL_TRY(queue->create_hardware_queue(options));
  DeviceCore& shared = *queue->core_;
  const std::scoped_lock lock(shared.queues_mutex);
  shared.queues.push_back(queue.get());
  return queue;
}

Result<> KfdQueue::allocate_buffers(const QueueOptions& options) {
  DOPPEL_ASSIGN(ring_memory_, core_->allocate(options.ring_bytes, kSharedMemory));
  DOPPEL_ASSIGN(pointers_, core_->allocate(kPageBytes, kSharedMemory));
  amd_queue_ = pointers_.host_as<doppel::abi::AmdQueue>().data();
  ring_ = RingBuffer(kind_, ring_memory_.host_as<uint32_t>());
  DOPPEL_TRY(grow_arguments(core_->options.argument_bytes));
  DOPPEL_ASSIGN(timeline_, core_->process->signals().create({}));
  if (kind_ == QueueKind::Sdma) return {};

  const QueueBufferSizes sizes = core_->node->queue_buffers();
  DOPPEL_ASSIGN(eop_, core_->allocate(sizes.eop_bytes, {.executable = true}));
  DOPPEL_ASSIGN(context_save_,
                core_->allocate(sizes.context_save_area_bytes, {.executable = true}));
  if (kind_ == QueueKind::Aql) {
    DOPPEL_ASSIGN(aql_, AqlState::create(*core_, scratch_, *amd_queue_, pointers_.gpu_address(),
                                         ring_memory_));
  }
  return {};
}

Result<> KfdQueue::create_hardware_queue(const QueueOptions& options) {
  kfd_ioctl_create_queue_args args{};
  args.ring_base_address = ring_memory_.gpu_address();
  args.ring_size = options.ring_bytes;
  args.gpu_id = core_->info.gpu_id;
  args.queue_type = driver_type(kind_);
  args.queue_percentage = KFD_MAX_QUEUE_PERCENTAGE;
  args.queue_priority = options.priority;
  args.write_pointer_address =
      pointers_.gpu_address() + offsetof(doppel::abi::AmdQueue, write_dispatch_id);
  args.read_pointer_address =
      pointers_.gpu_address() + offsetof(doppel::abi::AmdQueue, read_dispatch_id);
  if (kind_ != QueueKind::Sdma) {
    const QueueBufferSizes sizes = core_->node->queue_buffers();
    args.eop_buffer_address = eop_.gpu_address();
    args.eop_buffer_size = sizes.eop_bytes;
    args.ctx_save_restore_address = context_save_.gpu_address();
    args.ctx_save_restore_size = sizes.context_save_restore_bytes;
    args.ctl_stack_size = sizes.control_stack_bytes;
  }
  DOPPEL_TRY(core_->process->driver().call(AMDKFD_IOC_CREATE_QUEUE, args,
                                           fmt::format("create the {} queue", to_string(kind_))));
  id_ = args.queue_id;
  exists_ = true;
  DOPPEL_ASSIGN(doorbell_, core_->doorbells->at(args.doorbell_offset));
  return {};
}

KfdQueue::~KfdQueue() {
  if (exists_) (void)synchronize({.timeout = kDestroyTimeout});
  (void)close();
}

Result<> KfdQueue::close() {
  {
    const std::scoped_lock lock(core_->queues_mutex);
    std::erase(core_->queues, this);
  }
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(exists_, false)) return {};
  kfd_ioctl_destroy_queue_args args{};
  args.queue_id = id_;
  return core_->process->driver().call(AMDKFD_IOC_DESTROY_QUEUE, args, "destroy the queue");
}

uint64_t KfdQueue::timeline_count() const {
  // AQL completion signals are decremented, the other markers store how many have been.
  const int64_t value = timeline_.value();
  return static_cast<uint64_t>(kind_ == QueueKind::Aql ? -value : value);
}

uint64_t KfdQueue::read_pointer() const {
  return std::atomic_ref(amd_queue_->read_dispatch_id).load(std::memory_order_acquire);
}

uint64_t KfdQueue::retired() {
  // The base first: restart_timeline() stores it last.
  const uint64_t base = timeline_base_.load(std::memory_order_acquire);
  return base + timeline_count();
}

void KfdQueue::retire() {
  const uint64_t number = retired();
  arguments_.retire(number);
  while (!in_flight_.empty() && in_flight_.front().number <= number) in_flight_.pop_front();
}

Result<> KfdQueue::wait_retired(uint64_t number, std::chrono::nanoseconds timeout) {
  const auto waited = core_->process->waiter().wait(
      [&] { return retired() >= number; },
      [&] {
        return fmt::format("{} queue {} to retire submission {} (it has retired {})",
                           to_string(kind_), id_, number, retired());
      },
      timeline_.ref().event_id, timeout);
  if (!waited && waited.error().code() == StatusCode::Deadlock && timeout >= verify::kPatience) {
    note_deadlock(number);
  }
  return waited;
}

void KfdQueue::note_deadlock(uint64_t number) const {
  auto* observer = core_->host_observer();
  if (!observer) return;
  const auto count = static_cast<int64_t>(number - timeline_base_.load(std::memory_order_acquire));
  const bool down = kind_ == QueueKind::Aql;
  observer->on_host_deadlock(
      {.address = timeline_.ref().value_address(),
       .condition = down ? SignalCondition::Less : SignalCondition::GreaterEqual,
       .wanted = down ? 1 - count : count});
}

Result<> KfdQueue::synchronize(const WaitOptions& options) {
  DOPPEL_TRY(wait_retired(submitted(), options.timeout));
  const std::scoped_lock lock(mutex_);
  retire();
  return {};
}

/// Holds the queue's lock from reserve() to publish().
class KfdQueue::Reservation final : public QueueReservation {
 public:
  Reservation(KfdQueue& queue, Submission submission, std::unique_lock<std::mutex> lock)
      : queue_(queue), submission_(std::move(submission)), lock_(std::move(lock)) {}
  ~Reservation() override {
    if (lock_.owns_lock()) queue_.give_back(submission_);
  }

  void publish() override {
    if (!submission_.commands.empty()) queue_.publish(std::move(submission_));
    lock_.unlock();
  }

 private:
  KfdQueue& queue_;
  Submission submission_;
  std::unique_lock<std::mutex> lock_;
};

Result<std::unique_ptr<QueueReservation>> KfdQueue::reserve(Submission submission) {
  DOPPEL_TRY(submission.commands.check());
  if (submission.commands.language() != language_of(kind_)) {
    return invalid(
        fmt::format("The commands are not for a queue of this kind ({}).", to_string(kind_)));
  }
  std::unique_lock lock(mutex_);
  if (!exists_) {
    return error(StatusCode::Unavailable, fmt::format("Queue {} has been closed.", id_));
  }
  if (!submission.commands.empty()) {
    retire();
    DOPPEL_TRY(restart_timeline());
    append_marker(submission.commands);
    DOPPEL_TRY(submission.commands.check());
    DOPPEL_TRY(place_arguments(submission));
    if (auto reserved = reserve_ring(submission.commands); !reserved) {
      give_back(submission);
      return std::unexpected(std::move(reserved).error());
    }
  }
  return std::make_unique<Reservation>(*this, std::move(submission), std::move(lock));
}

void KfdQueue::give_back(const Submission& submission) {
  if (submission.arguments.size() != 0) arguments_.undo();
}

uint64_t KfdQueue::max_stream() const {
  CommandStream marker(language_of(kind_), core_->info.target->family);
  append_marker(marker);
  return ring_.max_stream() - marker.size();
}

Result<> KfdQueue::restart_timeline() {
  const uint64_t base = timeline_base_.load(std::memory_order_relaxed);
  if (submitted() - base < core_->options.timeline_limit) return {};
  DOPPEL_TRY(wait_retired(submitted(), kSpaceTimeout));
  retire();
  // Nothing is in flight: nobody but us looks at the signal.
  timeline_.set(0);
  timeline_base_.store(submitted(), std::memory_order_release);
  return {};
}

Result<> KfdQueue::place_arguments(Submission& submission) {
  const uint32_t bytes = submission.arguments.size();
  if (bytes == 0) return {};
  const uint64_t number = submitted() + 1;
  if (bytes > arguments_.size()) {
    DOPPEL_TRY(wait_retired(submitted(), kSpaceTimeout));
    retire();
    DOPPEL_TRY(grow_arguments(bytes));
  }
  std::optional<uint32_t> offset = arguments_.allocate(bytes, number);
  for (uint64_t next = retired() + 1; !offset; ++next) {
    DOPPEL_TRY(wait_retired(std::min(next, submitted()), kSpaceTimeout));
    retire();
    offset = arguments_.allocate(bytes, number);
  }
  if (auto* observer = core_->host_observer()) {
    observer->on_host_access(argument_memory_.gpu_address() + *offset, bytes, MemoryAccess::Write,
                             "Queue::submit (arguments)");
  }
  submission.arguments.place(
      std::span(argument_memory_.host(), argument_memory_.size()).subspan(*offset, bytes),
      argument_memory_.gpu_address() + *offset, submission.commands.dwords());
  return {};
}

Result<> KfdQueue::grow_arguments(uint32_t bytes) {
  if (bytes > kMaxRingBytes) {
    return error(StatusCode::OutOfRange,
                 fmt::format("The submission's arguments ({} bytes) exceed {} bytes.", bytes,
                             kMaxRingBytes));
  }
  uint32_t size = kMinRingBytes;
  while (size < bytes) size *= 2;
  DOPPEL_ASSIGN(argument_memory_, core_->allocate(size, {.domain = MemoryDomain::Gtt,
                                                         .cpu_visible = true,
                                                         .executable = true,
                                                         .coherent = true,
                                                         .uncached = true}));
  arguments_ = ArgumentRing(size, ArgumentBlock::kAlignment);
  return {};
}

void KfdQueue::append_marker(CommandStream& commands) const {
  const uint64_t value = submitted() + 1 - timeline_base_.load(std::memory_order_relaxed);
  switch (kind_) {
    case QueueKind::Pm4:
      Pm4Encoder(commands).signal(timeline_.ref(), value);
      break;
    case QueueKind::Aql:
      AqlEncoder(commands).barrier_and({}, timeline_.ref());
      break;
    case QueueKind::Sdma:
      SdmaEncoder(commands).signal(timeline_.ref(), value);
      break;
  }
}

Result<> KfdQueue::reserve_ring(const CommandStream& commands) {
  if (commands.size() > ring_.max_stream()) {
    return error(StatusCode::OutOfRange,
                 fmt::format("The submission ({} dwords) is longer than the {} queue's ring takes "
                             "at once ({} dwords).",
                             commands.size(), to_string(kind_), ring_.max_stream()));
  }
  const uint64_t needed = ring_.needed(commands);
  if (ring_.free_dwords(read_pointer()) >= needed) return {};
  return core_->process->waiter().wait(
      [&] { return ring_.free_dwords(read_pointer()) >= needed; },
      [&] {
        return fmt::format("{} queue {} to have room for {} dwords (it has {})", to_string(kind_),
                           id_, needed, ring_.free_dwords(read_pointer()));
      },
      timeline_.ref().event_id, kSpaceTimeout);
}

void KfdQueue::publish(Submission submission) {
  const uint64_t number = submitted() + 1;
  in_flight_.push_back({number, std::move(submission.keep_alive)});
  submitted_.store(number, std::memory_order_release);
  ring_.write(submission.commands);
  core_->process->kernel().advance_queue({.queue = id_,
                                          .write_pointer = &amd_queue_->write_dispatch_id,
                                          .to = ring_.write_pointer(),
                                          .doorbell = doorbell_,
                                          .doorbell_value = ring_.doorbell_value()});
}

Result<ScratchLease> KfdQueue::scratch(uint32_t private_bytes, uint32_t wave_size) {
  if (kind_ == QueueKind::Sdma) {
    return error(StatusCode::InvalidArgument, "An SDMA queue runs no kernels.");
  }
  const auto before = scratch_.current();
  DOPPEL_ASSIGN(const auto memory, scratch_.acquire(private_bytes, wave_size));
  if (kind_ == QueueKind::Pm4) {
    return ScratchLease{{memory->allocation.gpu_address(), memory->plan.tmpring_size}, memory};
  }
  if (memory != before) {
    // The packet processor reads the amd_queue_t as it goes: it must not be working.
    DOPPEL_TRY(synchronize());
    aql_->set_scratch(*memory);
  }
  return ScratchLease{{}, memory};
}

HiddenArgs KfdQueue::hidden_args() const {
  return {.queue_ptr = kind_ == QueueKind::Aql ? pointers_.gpu_address() : 0,
          .private_base = static_cast<uint32_t>(core_->apertures.scratch_base >> 32),
          .shared_base = static_cast<uint32_t>(core_->apertures.lds_base >> 32)};
}

}  // namespace doppel::kfd
