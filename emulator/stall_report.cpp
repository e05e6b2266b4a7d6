#include "emulator/stall_report.h"

#include <fmt/format.h>

#include "emulator/simulator_impl.h"

namespace doppel::emu {
namespace {

bool covers(const PendingWrite& write, uint64_t address) {
  return address - write.address < write.size;
}

/// The host byte behind a GPU address: the same memory has several addresses on several GPUs.
const std::byte* host_byte(const GpuVm& vm, uint64_t address) {
  const Mapping* mapping = vm.find(address);
  return mapping ? mapping->host + (address - mapping->va) : nullptr;
}

bool reaches(const PendingWrite& write, const GpuVm& writer, const BlockedOn& wait) {
  for (uint64_t word : wait.words) {
    if (&writer == wait.vm && covers(write, word)) return true;
    const std::byte* wanted = wait.vm ? host_byte(*wait.vm, word) : nullptr;
    const std::byte* written = host_byte(writer, write.address);
    if (wanted && written && wanted >= written && wanted < written + write.size) return true;
  }
  return false;
}

std::string find_writers(Simulator::Impl& simulator, const BlockedOn& wait) {
  std::string writers;
  for (auto& gpu : simulator.gpus) {
    for (auto& [id, queue] : gpu->impl().queues) {
      for (const PendingWrite& write : queue->pending_writes()) {
        if (!reaches(write, *queue->config().vm, wait)) continue;
        fmt::format_to(std::back_inserter(writers), "    {} would write it: {}{}\n", queue->name(),
                       write.packet, queue->faulted() ? ", but it has faulted" : "");
      }
    }
  }
  return writers;
}

}  // namespace

std::string stall_report(Simulator::Impl& simulator) {
  std::string report;
  for (Block* block : simulator.scheduler.blocks()) {
    const auto wait = block->blocked_on();
    if (!wait) continue;
    fmt::format_to(std::back_inserter(report), "{} waits: {}\n", block->name(), wait->reason);
    if (wait->words.empty()) continue;
    const std::string writers = find_writers(simulator, *wait);
    report += writers.empty() ? "    no queued packet writes it: the host must, or nobody will\n"
                              : writers;
  }
  return report;
}

}  // namespace doppel::emu
