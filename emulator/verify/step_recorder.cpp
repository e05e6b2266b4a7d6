#include "emulator/verify/step_recorder.h"

#include <bit>

namespace doppel::verify {
namespace {

using emu::AccessLog;
using emu::AccessMode;

constexpr uint64_t kSignalValueBytes = 8;

bool writes(AccessMode mode) {
  return mode == AccessMode::Write || mode == AccessMode::Atomic;
}

/// Calls visit(va, bytes) for the runs of set bits in one line's mask.
template <class Visit>
void for_each_run(uint64_t bits, uint64_t va, Visit&& visit) {
  while (bits != 0) {
    const int first = std::countr_zero(bits);
    const int count = std::countr_one(bits >> first);
    visit(va + static_cast<uint64_t>(first), static_cast<uint64_t>(count));
    bits &= first + count == 64 ? 0 : ~uint64_t{0} << (first + count);
  }
}

}  // namespace

StepRecorder::StepRecorder() {
  log_.begin(kHostActor, {});  // what the host does first
}

void StepRecorder::add(Footprint& to, const emu::GpuVm& vm, uint64_t va, uint64_t bytes,
                       bool write) const {
  AddressBook::translate(vm, va, bytes, [&](uint64_t host, uint64_t size, uint64_t) {
    const Buffer* buffer = book_.find(host);
    if (!buffer) return;
    const uint64_t begin = host - buffer->host;
    to.add(buffer->number, begin, begin + size, write);
  });
}

void StepRecorder::add(Footprint& to, const emu::GpuVm& vm, const AccessLog& log) const {
  for (uint64_t number : log.page_numbers()) {
    const AccessLog::Page& page = log.page(number);
    for (size_t line = 0; line < AccessLog::kLines; ++line) {
      const uint64_t va = number * AccessLog::kPageBytes + line * AccessLog::kLineBytes;
      auto touch = [&](uint64_t bits, bool write) {
        for_each_run(bits, va, [&](uint64_t at, uint64_t bytes) { add(to, vm, at, bytes, write); });
      };
      touch(page.read[line] | page.scalar_read[line], false);
      touch(page.written[line], true);
    }
  }
}

void StepRecorder::add(Footprint& to, const emu::QueueRef& queue,
                       std::span<const emu::MemoryAccess> accesses) const {
  for (const emu::MemoryAccess& one : accesses) {
    add(to, *queue.config.vm, one.va, one.size, writes(one.mode));
  }
}

void StepRecorder::on_queue_created(const emu::QueueRef& queue) {
  book_.add_space(*queue.config.vm);
}

void StepRecorder::on_packet(const emu::PacketEvent& event) {
  ended_.erase(&event.queue.config);
}

void StepRecorder::on_packet_step(const emu::PacketEvent& event, emu::PacketProgress,
                                  std::span<const emu::MemoryAccess> accesses) {
  add(log_.current().touched, event.queue, accesses);
}

void StepRecorder::on_access_log(const emu::QueueRef& queue, uint64_t tag, const AccessLog* log) {
  running_[{&queue.config, tag}] = {log, {}};
}

void StepRecorder::on_dispatch_step(const emu::QueueRef& queue, uint64_t tag) {
  running_[{&queue.config, tag}].slices.push_back(log_.size() - 1);
  log_.current().complete = false;
}

void StepRecorder::on_completion(const emu::QueueRef& queue, emu::CompletionKind kind, uint64_t tag,
                                 std::span<const emu::MemoryAccess> accesses) {
  if (kind != emu::CompletionKind::EndOfPipe) {
    const auto done = running_.extract({&queue.config, tag});
    if (done.empty()) return;
    const Running& kernel = done.mapped();
    Footprint touched;
    if (kernel.log) add(touched, *queue.config.vm, *kernel.log);
    for (size_t slice : kernel.slices) {
      log_.at(slice).touched.add(touched);
      log_.at(slice).complete = true;
    }
    if (!kernel.slices.empty()) ended_[&queue.config].push_back(kernel.slices.back());
  }
  Footprint effects;
  add(effects, queue, accesses);
  log_.current().touched.add(effects);
  for (size_t slice : ended_[&queue.config]) log_.at(slice).touched.add(effects);
}

void StepRecorder::on_map(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  book_.map(vm, mapping);
}

void StepRecorder::on_unmap(const emu::GpuVm& vm, const emu::Mapping& mapping) {
  book_.unmap(vm, mapping, 0);
}

/// The host does something; where no decision preceded it (its wait has timed out), as a step of
/// its own.
void StepRecorder::host(uint64_t va, uint64_t bytes, bool write) {
  const emu::GpuVm* vm = book_.space_of(va);
  if (!vm) return;
  if (log_.current().actor != kHostActor) log_.begin(kHostActor, {});
  add(log_.current().touched, *vm, va, bytes, write);
}

void StepRecorder::on_host_access(uint64_t va, uint64_t bytes, MemoryAccess access,
                                  std::string_view) {
  if (can_read(access)) host(va, bytes, false);
  if (can_write(access)) host(va, bytes, true);
}

void StepRecorder::on_host_store(uint64_t va, int64_t, std::string_view) {
  host(va, kSignalValueBytes, true);
}

void StepRecorder::on_host_load(uint64_t va) {
  host(va, kSignalValueBytes, false);
}

void StepRecorder::on_host_wait(const HostWait& wait) {
  host(wait.address, kSignalValueBytes, false);
}

void StepRecorder::on_host_deadlock(const HostWait& wait) {
  host(wait.address, kSignalValueBytes, false);
}

}  // namespace doppel::verify
