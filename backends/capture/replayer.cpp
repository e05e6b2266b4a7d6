#include "backends/capture/replayer.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "backends/capture/address_map.h"
#include "backends/capture/replay_memory.h"
#include "backends/capture/replay_queue.h"
#include "backends/kfd/kfd_abi.h"
#include "backends/kfd/kfd_driver.h"
#include "backends/kfd/topology.h"

namespace doppel::capture {
namespace {

template <class Args>
Result<Args> argument_of(const std::vector<std::byte>& bytes, const IoctlRecord& record) {
  if (bytes.size() != sizeof(Args) || bytes.size() != _IOC_SIZE(record.request)) {
    return error(StatusCode::Malformed,
                 fmt::format("The recorded argument of {} has a wrong size ({} bytes).",
                             kfd::ioctl_name(record.request), bytes.size()));
  }
  Args args;
  std::memcpy(&args, bytes.data(), sizeof args);
  return args;
}

/// One replay under way.
class Replay {
 public:
  Replay(std::shared_ptr<kfd::KernelAbi> kernel, const ReplayOptions& options)
      : kernel_(std::move(kernel)), options_(options), memory_(*kernel_, options.move) {}

  Result<> operator()(const StartRecord& record);
  Result<> operator()(const OpenRecord& record);
  Result<> operator()(const CloseRecord& record);
  Result<> operator()(const IoctlRecord& record);
  Result<> operator()(const MemoryRecord& record);
  Result<> operator()(const SubmitRecord& record);
  Result<> operator()(const ResultRecord& record);

  void begin_record() { ++report_.records; }
  ReplayReport finish() {
    report_.moved = memory_.addresses().moved();
    return std::move(report_);
  }

 private:
  Result<> allocate(const IoctlRecord& record);
  Result<> free_memory(const IoctlRecord& record);
  Result<> map(const IoctlRecord& record);
  Result<> create_queue(const IoctlRecord& record);
  Result<> destroy_queue(const IoctlRecord& record);
  Result<> create_event(const IoctlRecord& record);
  Result<> destroy_event(const IoctlRecord& record);
  Result<> acquire_vm(const IoctlRecord& record);

  template <class Args>
  Result<> call(const IoctlRecord& record, Args& args);
  Result<int> kfd_fd() const;
  Result<uint32_t> gpu_now(uint32_t recorded) const;
  Result<int> fd_now(int recorded) const;
  void rest();
  void note_difference(const ReplayMemory::Difference& difference);

  std::shared_ptr<kfd::KernelAbi> kernel_;
  ReplayOptions options_;
  ReplayReport report_;
  std::map<uint32_t, uint32_t> gpus_;           // recorded id -> id
  std::map<uint32_t, uint32_t> minors_;         // recorded render minor -> minor
  std::map<uint32_t, const Target*> targets_;   // by recorded GPU id
  std::map<int, kfd::Descriptor> descriptors_;  // by recorded descriptor
  int kfd_ = -1;                                // recorded descriptor of /dev/kfd
  std::map<uint32_t, int> render_of_;           // recorded GPU id -> recorded descriptor
  ReplayMemory memory_;
  std::map<uint32_t, ReplayQueue> queues_;  // by recorded id
  std::string last_packets_;
};

Result<> Replay::operator()(const StartRecord& record) {
  DOPPEL_ASSIGN(const kfd::Topology topology, kfd::read_topology(*kernel_));
  const auto now = topology.gpus();
  if (now.size() < record.gpus.size()) {
    return error(StatusCode::Unavailable,
                 fmt::format("The trace was made on {} GPUs; this machine has {}.",
                             record.gpus.size(), now.size()));
  }
  for (size_t i = 0; i < record.gpus.size(); ++i) {
    const StartRecord::Gpu& then = record.gpus[i];
    if (then.target != now[i]->gfx_name()) {
      return error(StatusCode::Unsupported,
                   fmt::format("GPU {} of the trace is {}; this machine's is {}.", i, then.target,
                               now[i]->gfx_name()));
    }
    gpus_[then.gpu_id] = now[i]->gpu_id;
    minors_[then.render_minor] = static_cast<uint32_t>(now[i]->properties["drm_render_minor"]);
    targets_[then.gpu_id] = now[i]->target();
  }
  return {};
}

Result<> Replay::operator()(const OpenRecord& record) {
  if (record.fd < 0) return {};
  std::string path = record.path;
  constexpr std::string_view kRender = "/dev/dri/renderD";
  if (path.starts_with(kRender)) {
    const auto minor =
        static_cast<uint32_t>(std::strtoul(path.c_str() + kRender.size(), nullptr, 10));
    const auto now = minors_.find(minor);
    if (now == minors_.end()) {
      return error(StatusCode::Malformed,
                   fmt::format("The trace opens a render node of no GPU ({:.40}).", path));
    }
    path = fmt::format("{}{}", kRender, now->second);
  } else if (path != "/dev/kfd") {
    return error(StatusCode::Malformed,
                 fmt::format("The trace opens what is no device of a GPU ({:.40}).", path));
  }
  DOPPEL_ASSIGN(kfd::Descriptor descriptor, kfd::Descriptor::open(kernel_, path));
  if (path == "/dev/kfd") kfd_ = record.fd;
  descriptors_.insert_or_assign(record.fd, std::move(descriptor));
  return {};
}

Result<> Replay::operator()(const CloseRecord& record) {
  // KFD's state belongs to the process: what comes after may need the driver still.
  if (record.fd != kfd_) descriptors_.erase(record.fd);
  return {};
}

Result<int> Replay::fd_now(int recorded) const {
  const auto found = descriptors_.find(recorded);
  if (found != descriptors_.end()) return found->second.get();
  return error(StatusCode::Malformed,
               fmt::format("The trace uses a descriptor that is not open ({}).", recorded));
}

Result<int> Replay::kfd_fd() const {
  return fd_now(kfd_);
}

Result<uint32_t> Replay::gpu_now(uint32_t recorded) const {
  const auto found = gpus_.find(recorded);
  if (found != gpus_.end()) return found->second;
  return error(StatusCode::Malformed,
               fmt::format("The trace uses a GPU that it has not introduced (id {}).", recorded));
}

template <class Args>
Result<> Replay::call(const IoctlRecord& record, Args& args) {
  DOPPEL_ASSIGN(const int fd, kfd_fd());
  int result = -EINTR;
  while (result == -EINTR || result == -EAGAIN) result = kernel_->ioctl(fd, record.request, &args);
  if (result >= 0) return {};
  return std::unexpected(status_from_errno(
      -result, fmt::format("The driver refuses what it took when the trace was made ({}).",
                           kfd::ioctl_name(record.request))));
}

Result<> Replay::operator()(const IoctlRecord& record) {
  if (record.result < 0) return {};  // it changed nothing then
  ++report_.ioctls;
  switch (record.request) {
    case AMDKFD_IOC_ACQUIRE_VM:
      return acquire_vm(record);
    case AMDKFD_IOC_ALLOC_MEMORY_OF_GPU:
      return allocate(record);
    case AMDKFD_IOC_FREE_MEMORY_OF_GPU:
      return free_memory(record);
    case AMDKFD_IOC_MAP_MEMORY_TO_GPU:
    case AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU:
      return map(record);
    case AMDKFD_IOC_CREATE_QUEUE:
      return create_queue(record);
    case AMDKFD_IOC_DESTROY_QUEUE:
      return destroy_queue(record);
    case AMDKFD_IOC_CREATE_EVENT:
      return create_event(record);
    case AMDKFD_IOC_DESTROY_EVENT:
      return destroy_event(record);
    case AMDKFD_IOC_GET_VERSION:
    case AMDKFD_IOC_GET_CLOCK_COUNTERS:
    case AMDKFD_IOC_GET_PROCESS_APERTURES_NEW:
    case AMDKFD_IOC_AVAILABLE_MEMORY:
    case AMDKFD_IOC_WAIT_EVENTS:
      return {};  // questions; waits have ended where the next record begins
    default:
      return error(StatusCode::Unsupported,
                   fmt::format("The trace has a call that can't be replayed ({}, number {:#x}).",
                               kfd::ioctl_name(record.request), _IOC_NR(record.request)));
  }
}

Result<> Replay::acquire_vm(const IoctlRecord& record) {
  DOPPEL_ASSIGN(auto args, argument_of<kfd_ioctl_acquire_vm_args>(record.in, record));
  const auto recorded_fd = static_cast<int>(args.drm_fd);
  DOPPEL_ASSIGN(const int fd, fd_now(recorded_fd));
  render_of_[args.gpu_id] = recorded_fd;
  args.drm_fd = static_cast<uint32_t>(fd);
  DOPPEL_ASSIGN(args.gpu_id, gpu_now(args.gpu_id));
  return call(record, args);
}

Result<> Replay::allocate(const IoctlRecord& record) {
  using Args = kfd_ioctl_alloc_memory_of_gpu_args;
  DOPPEL_ASSIGN(auto args, argument_of<Args>(record.in, record));
  DOPPEL_ASSIGN(const auto out, argument_of<Args>(record.out, record));
  if ((args.flags & (KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL)) != 0) {
    memory_.ignore(out.handle);  // a page of registers, which the client alone uses
    return {};
  }
  const auto render = render_of_.find(args.gpu_id);
  if (render == render_of_.end()) {
    return error(StatusCode::Malformed, fmt::format("The trace allocates before it acquires the "
                                                    "address space of GPU {}.",
                                                    args.gpu_id));
  }
  DOPPEL_ASSIGN(const int render_fd, fd_now(render->second));
  DOPPEL_ASSIGN(args.gpu_id, gpu_now(args.gpu_id));
  DOPPEL_ASSIGN(ReplayMemory::Block * block, memory_.reserve(out.handle, args));
  args.va_addr = block->va;
  if (block->user) args.mmap_offset = block->va;
  DOPPEL_TRY(call(record, args));
  return memory_.adopt(*block, args, render_fd);
}

Result<> Replay::free_memory(const IoctlRecord& record) {
  DOPPEL_ASSIGN(auto args, argument_of<kfd_ioctl_free_memory_of_gpu_args>(record.in, record));
  if (memory_.ignored(args.handle)) {
    memory_.forget_ignored(args.handle);  // the driver may give the number to other memory
    return {};
  }
  const uint64_t recorded = args.handle;
  DOPPEL_ASSIGN(args.handle, memory_.handle_now(recorded));
  DOPPEL_TRY(call(record, args));
  memory_.release(recorded);
  return {};
}

Result<> Replay::map(const IoctlRecord& record) {
  static_assert(sizeof(kfd_ioctl_map_memory_to_gpu_args) ==
                sizeof(kfd_ioctl_unmap_memory_from_gpu_args));
  DOPPEL_ASSIGN(auto args, argument_of<kfd_ioctl_map_memory_to_gpu_args>(record.in, record));
  if (memory_.ignored(args.handle)) return {};
  DOPPEL_ASSIGN(args.handle, memory_.handle_now(args.handle));
  std::vector<uint32_t> gpus;
  for (const uint32_t gpu : record.gpus) {
    DOPPEL_ASSIGN(gpus.emplace_back(), gpu_now(gpu));
  }
  args.device_ids_array_ptr = reinterpret_cast<uint64_t>(gpus.data());
  args.n_devices = static_cast<uint32_t>(gpus.size());
  args.n_success = 0;
  return call(record, args);
}

Result<> Replay::create_queue(const IoctlRecord& record) {
  using Args = kfd_ioctl_create_queue_args;
  DOPPEL_ASSIGN(auto args, argument_of<Args>(record.in, record));
  DOPPEL_ASSIGN(const auto out, argument_of<Args>(record.out, record));
  const Target* target = targets_[args.gpu_id];
  DOPPEL_ASSIGN(args.gpu_id, gpu_now(args.gpu_id));
  const AddressMap& now = memory_.addresses();
  args.ring_base_address = now(args.ring_base_address);
  args.write_pointer_address = now(args.write_pointer_address);
  args.read_pointer_address = now(args.read_pointer_address);
  args.eop_buffer_address = now(args.eop_buffer_address);
  args.ctx_save_restore_address = now(args.ctx_save_restore_address);
  DOPPEL_TRY(call(record, args));
  DOPPEL_ASSIGN(const int fd, kfd_fd());
  DOPPEL_ASSIGN(ReplayQueue queue, ReplayQueue::adopt(*kernel_, fd, args, target, memory_));
  queues_.insert_or_assign(out.queue_id, std::move(queue));
  return {};
}

Result<> Replay::destroy_queue(const IoctlRecord& record) {
  DOPPEL_ASSIGN(auto args, argument_of<kfd_ioctl_destroy_queue_args>(record.in, record));
  const auto queue = queues_.find(args.queue_id);
  if (queue == queues_.end()) {
    return error(StatusCode::Malformed,
                 fmt::format("The trace destroys a queue that there is not ({}).", args.queue_id));
  }
  args.queue_id = queue->second.id();
  queues_.erase(queue);
  return call(record, args);
}

Result<> Replay::create_event(const IoctlRecord& record) {
  using Args = kfd_ioctl_create_event_args;
  DOPPEL_ASSIGN(auto args, argument_of<Args>(record.in, record));
  DOPPEL_ASSIGN(const auto out, argument_of<Args>(record.out, record));
  if (args.event_page_offset != 0) {
    DOPPEL_ASSIGN(args.event_page_offset, memory_.handle_now(args.event_page_offset));
  }
  DOPPEL_TRY(call(record, args));
  if (args.event_id == out.event_id && args.event_slot_index == out.event_slot_index) return {};
  return error(StatusCode::Unsupported,
               fmt::format("The driver numbers events otherwise than when the trace was made ({} "
                           "instead of {}): the packets would name the wrong ones.",
                           args.event_id, out.event_id));
}

Result<> Replay::destroy_event(const IoctlRecord& record) {
  DOPPEL_ASSIGN(auto args, argument_of<kfd_ioctl_destroy_event_args>(record.in, record));
  return call(record, args);
}

Result<> Replay::operator()(const MemoryRecord& record) {
  report_.memory_bytes += record.bytes.size();
  return memory_.write(record.va, record.bytes);
}

void Replay::rest() {
  const uint64_t begin = kernel_->now_ns();
  while (kernel_->relax() == kfd::Relax::Again) {
    if (kernel_->now_ns() - begin > kRestNs) return;
  }
}

Result<> Replay::operator()(const SubmitRecord& record) {
  const auto queue = queues_.find(record.queue);
  if (queue == queues_.end()) {
    return error(StatusCode::Malformed,
                 fmt::format("The trace submits to a queue that there is not ({}).", record.queue));
  }
  ++report_.submissions;
  if (options_.compare && !report_.first)
    last_packets_ = queue->second.packets_up_to(record.write_pointer, memory_);
  DOPPEL_TRY(queue->second.advance(record.write_pointer, memory_));
  rest();
  return {};
}

Result<> Replay::operator()(const ResultRecord& record) {
  if (!options_.compare) return {};
  report_.compared_bytes += record.bytes.size();
  return memory_.compare(
      record.va, record.bytes,
      [this](const ReplayMemory::Difference& difference) { note_difference(difference); });
}

void Replay::note_difference(const ReplayMemory::Difference& difference) {
  if (difference.timestamp) {
    ++report_.timestamps;
    return;
  }
  ++report_.differences;
  if (report_.first) return;
  report_.first = ReplayDifference{.record = report_.records - 1,
                                   .submission = report_.submissions,
                                   .place = difference.place,
                                   .bytes = difference.bytes,
                                   .expected = difference.expected,
                                   .got = difference.got,
                                   .packets = last_packets_};
}

Result<Record> next_record(TraceReader& trace, uint64_t number) {
  DOPPEL_ASSIGN(const auto bytes, trace.next());
  if (!bytes) {
    return error(StatusCode::Malformed,
                 fmt::format("The trace ends before its record {}.", number));
  }
  return decode(*bytes);
}

}  // namespace

Result<StartRecord> read_start(TraceReader& trace) {
  DOPPEL_TRY(trace.seek(0));
  DOPPEL_ASSIGN(const Record record, next_record(trace, 0));
  DOPPEL_TRY(trace.seek(0));
  if (const auto* start = std::get_if<StartRecord>(&record)) return *start;
  return error(StatusCode::Malformed, "The trace does not begin with its machine.");
}

std::string emulated_machine(const StartRecord& start) {
  if (start.machine.starts_with("mock:")) return start.machine;
  if (start.gpus.empty()) return "mock:gfx1100";
  return fmt::format("mock:{},count={}", start.gpus[0].target, start.gpus.size());
}

Result<ReplayReport> replay(TraceReader& trace, std::shared_ptr<kfd::KernelAbi> kernel,
                            const ReplayOptions& options) {
  DOPPEL_TRY(read_start(trace));
  Replay under_way(std::move(kernel), options);
  for (uint64_t number = 0; number < trace.records(); ++number) {
    DOPPEL_ASSIGN(const Record record, next_record(trace, number));
    under_way.begin_record();
    if (auto done = std::visit(under_way, record); !done) {
      const Status& why = done.error();
      return error(why.code(),
                   fmt::format("Record {} can't be replayed: {}", number, why.message()),
                   why.os_error());
    }
  }
  return under_way.finish();
}

}  // namespace doppel::capture
