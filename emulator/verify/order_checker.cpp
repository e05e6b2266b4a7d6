#include "emulator/verify/order_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "emulator/cp/foreseen_writes.h"

namespace doppel::verify {
namespace {

using emu::AccessLog;
using emu::AccessMode;

constexpr uint64_t kFirstInstruction = 4;  // bytes that every kernel reads of its code

/// Calls visit(va, bytes) for each run of set bits of `select(page, line)`.
template <class Select, class Visit>
void for_each_run(const AccessLog& log, Select&& select, Visit&& visit) {
  uint64_t begin = 0, end = 0;
  for (uint64_t number : log.page_numbers()) {
    const AccessLog::Page& page = log.page(number);
    for (size_t line = 0; line < AccessLog::kLines; ++line) {
      const uint64_t base = number * AccessLog::kPageBytes + line * AccessLog::kLineBytes;
      uint64_t bits = select(page, line);
      while (bits != 0) {
        const int first = std::countr_zero(bits);
        const int count = std::countr_one(bits >> first);
        const uint64_t va = base + static_cast<uint64_t>(first);
        if (va != end) {
          if (end != begin) visit(begin, end - begin);
          begin = va;
        }
        end = va + static_cast<uint64_t>(count);
        bits &= count + first == 64 ? 0 : ~uint64_t{0} << (first + count);
      }
    }
  }
  if (end != begin) visit(begin, end - begin);
}

bool is_unordered(const DeedRef& earlier, const Deed& later, const Past& past) {
  return earlier && earlier->epoch != later.epoch && !past.order().covers(earlier->epoch);
}

}  // namespace

void OrderChecker::on_queue_created(const emu::QueueRef& queue) {
  book_.add_space(*queue.config.vm);
  QueueState& created = queues_[queue.config.id] = {};
  created.actor = next_actor_++;
  created.gpu = queue.gpu;
  created.vm = queue.config.vm;
  created.ring_begin = queue.config.ring;
  created.ring_end = queue.config.ring + queue.config.ring_bytes;
}

void OrderChecker::on_queue_destroyed(const emu::QueueRef& queue) {
  // The driver returns once the queue is off the hardware: nothing of it goes on after that.
  const QueueState& gone = state(queue);
  host_.order().add_all({gone.actor, Line::Front, gone.front});
  host_.order().add_all({gone.actor, Line::Pipe, gone.launched});
  queues_.erase(queue.config.id);
}

void OrderChecker::on_submission(const emu::QueueRef& queue, uint64_t end) {
  if (unseen_host_) host_.join(words_.signalled());
  host_.order().add({kHost, Line::Front, ++host_steps_});
  state(queue).submissions.push_back({end, host_});
}

void OrderChecker::on_packet(const emu::PacketEvent& event) {
  QueueState& queue = state(event.queue);
  auto& submissions = queue.submissions;
  while (!submissions.empty() && submissions.front().end <= event.place.ring_position) {
    submissions.pop_front();
  }
  if (!submissions.empty()) queue.past.join(submissions.front().past);
  queue.past.order().add({queue.actor, Line::Front, ++queue.front});
  queue.sync = packet_sync(event.packet);
  queue.entered = false;
  auto deed = std::make_shared<Deed>(deed_of(event));
  deed->epoch = {queue.actor, Line::Front, queue.front};
  queue.deed = std::move(deed);
  fetch(event, queue);
  watch(queue, event.packet);
}

/// The front-end has read the packet. What the ring holds is the doorbell's affair.
void OrderChecker::fetch(const emu::PacketEvent& event, const QueueState& queue) {
  if (!event.place.in_ib) return;
  AddressBook::translate(*queue.vm, event.va, event.packet.size * sizeof(uint32_t),
                         [&](uint64_t host, uint64_t size, uint64_t va) {
                           read(queue.past, queue.deed, host, size, va, ReadPath::L2);
                         });
}

/// The dispatch reads its instructions: all of the kernel where its size is known.
void OrderChecker::fetch_code(const QueueState& queue, const InFlight& started) {
  const auto known = code_.find(started.deed->program);
  const uint64_t bytes = known == code_.end() ? 0 : known->second.bytes;
  AddressBook::translate(*queue.vm, started.deed->program, std::max(bytes, kFirstInstruction),
                         [&](uint64_t host, uint64_t size, uint64_t va) {
                           read(started.past, started.deed, host, size, va, ReadPath::Instruction);
                         });
}

/// The words that the packet waits for or signals, as they are before it acts.
void OrderChecker::watch(QueueState& queue, const packets::Packet& packet) {
  auto look = [&](uint64_t va) {
    if (const uint64_t host = AddressBook::host_of(*queue.vm, va)) {
      words_.watch(host, word_at(host), host_);
    }
  };
  for (const emu::MemoryWait& wait : queue.sync.wait_words()) look(wait.va);
  for (const emu::PendingWrite& write : emu::foreseen_writes(packet)) {
    if (write.size <= kSignalBytes) look(write.address);
  }
}

/// The packet goes to work: what it waited for is in its past.
void OrderChecker::enter(QueueState& queue) {
  if (std::exchange(queue.entered, true)) return;
  std::vector<WordCondition> conditions;
  for (const emu::MemoryWait& wait : queue.sync.wait_words()) {
    const uint64_t host = AddressBook::host_of(*queue.vm, wait.va);
    if (host == 0) continue;
    words_.watch(host, word_at(host), host_);
    conditions.push_back(
        {host, wait.reference, wait.mask, wait.compare, wait.is_64, wait.is_signed});
  }
  if (queue.sync.any_wait) {
    // Which of several signals ended the wait is not known: then none is relied on.
    std::erase_if(conditions, [](const WordCondition& c) { return !c.holds(word_at(c.address)); });
    if (conditions.size() != 1) conditions.clear();
  }
  for (const WordCondition& condition : conditions) words_.wait(condition, queue.past);
  if (queue.sync.joins_pipe) {
    queue.past.order().add_all({queue.actor, Line::Pipe, queue.launched});
    queue.past.join(queue.completed);
  }
  queue.past.apply(queue.gpu, queue.sync.acquire);
}

OrderChecker::InFlight& OrderChecker::start(QueueState& queue, uint64_t tag) {
  enter(queue);
  InFlight& started = queue.in_flight[tag] = {};
  started.deed = std::make_shared<Deed>(*queue.deed);
  started.deed->epoch = {queue.actor, Line::Pipe, ++queue.launched};
  started.past = queue.past;
  started.release = queue.sync.release;
  return started;
}

emu::AccessLog* OrderChecker::on_dispatch(const emu::QueueRef& ref, uint64_t tag,
                                          const emu::Dispatch& dispatch) {
  InFlight& started = start(state(ref), tag);
  started.past.order().add(started.deed->epoch);
  started.log = std::make_shared<AccessLog>();
  started.deed->agent = Agent::Shader;
  started.deed->program = dispatch.program;
  if (const auto known = code_.find(dispatch.program); known != code_.end()) {
    started.deed->kernel = known->second.kernel;
  }
  started.deed->log = started.log;
  started.scratch_begin = dispatch.scratch_base;
  started.scratch_end =
      dispatch.scratch_base + uint64_t{dispatch.scratch_bytes_per_wave} * dispatch.scratch_waves;
  fetch_code(state(ref), started);
  return started.log.get();
}

void OrderChecker::on_end_of_pipe_queued(const emu::QueueRef& ref, uint64_t tag) {
  InFlight& started = start(state(ref), tag);
  started.past.order().add_all(started.deed->epoch);
}

void OrderChecker::on_completion(const emu::QueueRef& ref, emu::CompletionKind, uint64_t tag,
                                 std::span<const emu::MemoryAccess> accesses) {
  QueueState& queue = state(ref);
  const auto found = queue.in_flight.find(tag);
  if (found == queue.in_flight.end()) return;
  InFlight& ended = found->second;
  flush(queue, ended);
  ended.past.apply(queue.gpu, ended.release);
  touch(queue, ended.past, ended.deed, accesses);
  queue.completed.join(ended.past);
  queue.in_flight.erase(found);
}

void OrderChecker::on_packet_step(const emu::PacketEvent& event, emu::PacketProgress progress,
                                  std::span<const emu::MemoryAccess> accesses) {
  if (progress == emu::PacketProgress::Waits) return;
  QueueState& queue = state(event.queue);
  enter(queue);
  if (accesses.empty() && !queue.sync.end_of_pipe) return;
  Past past = queue.past;
  // An end-of-pipe packet that found the pipe idle has acted at once.
  if (queue.sync.end_of_pipe) {
    past.order().add_all({queue.actor, Line::Pipe, queue.launched});
    past.apply(queue.gpu, queue.sync.release);
    queue.completed.join(past);
  }
  touch(queue, past, queue.deed, accesses);
}

void OrderChecker::touch(const QueueState& queue, const Past& past, const DeedRef& deed,
                         std::span<const emu::MemoryAccess> accesses) {
  for (const emu::MemoryAccess& one : accesses) {
    if (one.va >= queue.ring_begin && one.va < queue.ring_end) continue;
    const bool write = one.mode == AccessMode::Write || one.mode == AccessMode::Atomic;
    const bool small = one.size <= kSignalBytes;
    AddressBook::translate(*queue.vm, one.va, one.size,
                           [&](uint64_t host, uint64_t size, uint64_t va) {
                             // A word that somebody signals is read to synchronize.
                             if (!write && small && words_.find(host)) return;
                             if (write) {
                               this->write(past, deed, host, size, va, small);
                             } else {
                               read(past, deed, host, size, va, ReadPath::L2);
                             }
                           });
    if (write && small) publish(queue, past, deed, one);
  }
}

void OrderChecker::publish(const QueueState& queue, const Past& past, const DeedRef& deed,
                           const emu::MemoryAccess& access) {
  const uint64_t host = AddressBook::host_of(*queue.vm, access.va);
  if (host == 0) return;
  words_.write(host, access.size, word_at(host), past, deed, access.mode == AccessMode::Atomic);
}

void OrderChecker::flush(const QueueState& queue, const InFlight& in_flight) {
  if (!in_flight.log) return;
  // Each run of bytes, piece by piece of where they really are.
  auto pieces = [&](auto&& act) {
    return [&, act](uint64_t from, uint64_t bytes) {
      if (from >= in_flight.scratch_begin && from < in_flight.scratch_end) return;
      AddressBook::translate(*queue.vm, from, bytes, act);
    };
  };
  auto reads = [&](ReadPath path) {
    return pieces([&, path](uint64_t host, uint64_t size, uint64_t va) {
      read(in_flight.past, in_flight.deed, host, size, va, path);
    });
  };
  auto writes = [&](bool atomic) {
    return pieces([&, atomic](uint64_t host, uint64_t size, uint64_t va) {
      write(in_flight.past, in_flight.deed, host, size, va, atomic);
    });
  };
  using Page = AccessLog::Page;
  const AccessLog& log = *in_flight.log;
  for_each_run(
      log, [](const Page& page, size_t line) { return page.read[line]; }, reads(ReadPath::Vector));
  for_each_run(
      log, [](const Page& page, size_t line) { return page.scalar_read[line]; },
      reads(ReadPath::Scalar));
  for_each_run(
      log, [](const Page& page, size_t line) { return page.written[line] & ~page.atomic[line]; },
      writes(false));
  for_each_run(
      log, [](const Page& page, size_t line) { return page.atomic[line]; }, writes(true));
}

void OrderChecker::read(const Past& past, const DeedRef& deed, uint64_t host, uint64_t size,
                        uint64_t va, ReadPath path) {
  const Buffer* buffer = coherence_ || uninitialized_ ? book_.find(host) : nullptr;
  uint64_t judged = host;  // up to here
  auto judge = [&](uint64_t begin, uint64_t end, const DeedRef& writer) {
    if (!buffer || begin >= end) return;
    if (!writer) report_uninitialized(*buffer, deed, begin, end - begin, va + (begin - host));
    if (coherence_)
      look_for_stale({past, deed, path, begin, end, writer, !buffer->coherent},
                     va + (begin - host));
  };
  shadow_.visit(host, host + size, [&](uint64_t begin, uint64_t end, const auto& segment) {
    judge(judged, begin, nullptr);
    judged = end;
    if (is_unordered(segment.writer, *deed, past)) {
      report(RuleId::ReadAfterWrite, segment.writer, deed, begin, end - begin, va + (begin - host));
    } else {
      judge(begin, end, segment.writer);
    }
  });
  judge(judged, host + size, nullptr);
  shadow_.read(host, host + size, deed, past);
}

void OrderChecker::write(const Past& past, const DeedRef& deed, uint64_t host, uint64_t size,
                         uint64_t va, bool atomic) {
  shadow_.visit(host, host + size, [&](uint64_t begin, uint64_t end, const auto& segment) {
    const uint64_t at = va + (begin - host);
    if (is_unordered(segment.writer, *deed, past) && !(atomic && segment.atomic)) {
      report(RuleId::WriteAfterWrite, segment.writer, deed, begin, end - begin, at);
    }
    for (const DeedRef& reader : segment.readers) {
      if (is_unordered(reader, *deed, past)) {
        report(RuleId::WriteAfterRead, reader, deed, begin, end - begin, at);
      }
    }
  });
  shadow_.write(host, host + size, deed, atomic);
}

/// Nobody is known to have written the bytes, and the host, whose stores through a mapping are
/// unseen, has none. Once a buffer: what follows has the same cause.
void OrderChecker::report_uninitialized(const Buffer& buffer, const DeedRef& deed, uint64_t host,
                                        uint64_t size, uint64_t va) {
  if (!uninitialized_ || buffer.host_visible) return;
  if (!uninitialized_buffers_.insert(buffer.number).second) return;
  Finding finding;
  finding.rule = RuleId::UninitializedRead;
  finding.culprits = {describe(*deed, "reads", va, false)};
  finding.range = book_.describe(host, size, va);
  finding.message = fmt::format("{} of {} reads bytes of {} that nobody has written.",
                                finding.culprits[0].action, deed->actor, finding.range->buffer);
  finding.missing =
      fmt::format("a write to {} before {}", finding.range->buffer, finding.culprits[0].action);
  log_.add(std::move(finding));
}

void OrderChecker::look_for_stale(const CachedRead& read, uint64_t va) {
  const auto stale = caches_.read(read);
  // Its own bytes, and those that nobody is known to have written, are as old as they should be.
  if (!stale || !read.writer || read.writer->epoch == read.reader->epoch) return;
  const bool written_back = stale->missing != CacheOp::WriteBackL2;
  Finding finding;
  finding.rule = written_back ? RuleId::MissingInvalidation : RuleId::MissingWriteBack;
  finding.culprits = {describe(*read.writer, "writes", va, true),
                      describe(*read.reader, "reads", va, false)};
  finding.range = book_.describe(read.begin, read.end - read.begin, va);
  finding.message = fmt::format(
      "{} of {} reads what {} of {} has written to {}, is ordered after it, and may still see "
      "older bytes.",
      finding.culprits[1].action, read.reader->actor, finding.culprits[0].action,
      read.writer->actor, finding.range->buffer);
  finding.missing = fmt::format("{} of gpu {}, after {} and before {}", to_string(stale->missing),
                                stale->gpu, finding.culprits[0].action, finding.culprits[1].action);
  log_.add(std::move(finding));
}

void OrderChecker::report(RuleId rule, const DeedRef& first, const DeedRef& second, uint64_t host,
                          uint64_t size, uint64_t va) {
  if (!hazards_) return;
  const bool first_writes = rule != RuleId::WriteAfterRead;
  const bool second_writes = rule != RuleId::ReadAfterWrite;
  Finding finding;
  finding.rule = rule;
  finding.culprits = {describe(*first, first_writes ? "writes" : "reads", va, first_writes),
                      describe(*second, second_writes ? "writes" : "reads", va, second_writes)};
  finding.range = book_.describe(host, size, va);
  finding.message =
      fmt::format("{} of {} and {} of {} access the same bytes of {}, and nothing orders the two.",
                  finding.culprits[0].action, first->actor, finding.culprits[1].action,
                  second->actor, finding.range->buffer);
  finding.missing =
      fmt::format("a wait, before {}, for a signal that {} stores after {}",
                  finding.culprits[1].action, first->actor, finding.culprits[0].action);
  log_.add(std::move(finding));
}

std::shared_ptr<Deed> OrderChecker::host_deed(std::string_view call) {
  auto deed = std::make_shared<Deed>();
  deed->epoch = {kHost, Line::Front, ++host_steps_};
  deed->actor = "host";
  deed->call = call;
  host_.order().add(deed->epoch);
  return deed;
}

void OrderChecker::on_host_access(uint64_t va, uint64_t bytes, MemoryAccess how,
                                  std::string_view call) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (!vm) return;  // no queue has this space yet
  const DeedRef deed = host_deed(call);
  AddressBook::translate(*vm, va, bytes, [&](uint64_t host, uint64_t size, uint64_t at) {
    if (can_read(how)) read(host_, deed, host, size, at, ReadPath::Host);
    if (can_write(how)) write(host_, deed, host, size, at, false);
  });
}

void OrderChecker::on_host_store(uint64_t va, int64_t value, std::string_view call) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (!vm) return;
  const uint64_t host = AddressBook::host_of(*vm, va);
  const DeedRef deed = host_deed(call);
  words_.watch(host, word_at(host), host_);
  write(host_, deed, host, sizeof(value), va, true);
  words_.write(host, sizeof(value), static_cast<uint64_t>(value), host_, deed, false);
}

void OrderChecker::on_signal_created(uint64_t va, int64_t value) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (!vm) return;
  const uint64_t host = AddressBook::host_of(*vm, va);
  words_.forget(host, host + sizeof(value));
  on_host_store(va, value, "Device::create_signal");
}

void OrderChecker::on_host_load(uint64_t va) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (vm) words_.load(AddressBook::host_of(*vm, va), host_);
}

void OrderChecker::on_host_wait(const HostWait& wait) {
  const emu::GpuVm* vm = book_.space_of(wait.address);
  if (!vm) return;
  const uint64_t host = AddressBook::host_of(*vm, wait.address);
  words_.watch(host, word_at(host), host_);
  words_.wait(condition_of(wait, host), host_);
}

void OrderChecker::on_buffer_name(uint64_t va, std::string name) {
  book_.set_name(va, std::move(name));
}

void OrderChecker::on_kernel_name(uint64_t entry, uint64_t bytes, std::string name) {
  code_[entry] = {std::move(name), bytes};
}

void OrderChecker::on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  book_.map(vm, mapping);
}

void OrderChecker::on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  const Buffer* gone = book_.unmap(vm, mapping, 0);
  if (!gone) return;
  code_.erase(code_.lower_bound(gone->va), code_.lower_bound(gone->va + gone->size));
  shadow_.forget(gone->host, gone->host + gone->size);
  caches_.forget(gone->host, gone->host + gone->size);
  words_.forget(gone->host, gone->host + gone->size);
}

}  // namespace doppel::verify
