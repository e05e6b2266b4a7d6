#include "emulator/cp/command_processor.h"

#include <fmt/format.h>

#include "core/abi/hsa_aql.h"
#include "core/status.h"
#include "emulator/cp/foreseen_writes.h"
#include "emulator/scheduler.h"
#include "emulator/verify/observer.h"

namespace doppel::emu {
namespace {

CpContext make_context(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink,
                       MemoryPort& port, ComputeRegisters& registers, ComputePipe& pipe,
                       InFlightPackets& in_flight) {
  return {.target = *gpu.config.target,
          .gpu = gpu.config,
          .memory = port,
          .registers = registers,
          .pipe = pipe,
          .in_flight = in_flight,
          .clock = gpu.scheduler->clock(),
          .interrupts = InterruptLine(*gpu.interrupts, sink, config.id)};
}

CompletionKind completion_kind(ComputePipe::Completion::What what) {
  switch (what) {
    case ComputePipe::Completion::What::DispatchDone:
      return CompletionKind::DispatchDone;
    case ComputePipe::Completion::What::DispatchFaulted:
      return CompletionKind::DispatchFaulted;
    case ComputePipe::Completion::What::EndOfPipe:
      break;
  }
  return CompletionKind::EndOfPipe;
}

}  // namespace

CommandProcessor::CommandProcessor(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink)
    : StreamQueue(gpu, config, sink, {.reports_position = config.kind != QueueKind::Aql}),
      registers_(gpu.config),
      pipe_(gpu, ref(), {gpu.config.instruction_budget, gpu.config.workers, gpu.config.coverage}),
      pm4_(make_context(gpu, config, sink, port_, registers_, pipe_, in_flight_)),
      aql_(make_context(gpu, config, sink, port_, registers_, pipe_, in_flight_),
           config.read_pointer) {}

packets::Language CommandProcessor::language() const {
  return at_aql_packet() ? packets::Language::Aql : packets::Language::Pm4;
}

PacketResult CommandProcessor::execute(const packets::Packet& packet) {
  const PacketPlace place = stream_.place();
  if (at_aql_packet()) return aql_.execute(packet, place, stream_.address());
  return pm4_.execute(packet, place);
}

const Wait& CommandProcessor::wait() const {
  return at_aql_packet() ? aql_.wait() : pm4_.wait();
}

bool CommandProcessor::published() {
  if (!is_aql()) return true;
  const auto header = port_.load<uint16_t>(stream_.address());
  return !header || abi::aql_packet_type(*header) != abi::HSA_PACKET_TYPE_INVALID;
}

bool CommandProcessor::over(WaitFor what) {
  switch (what) {
    case WaitFor::PipeIdle:
      return pipe_.idle();
    case WaitFor::DispatchSlot:
      return pipe_.has_slot();
    case WaitFor::Scratch:
      return !pipe_.scratch_in_use();
    case WaitFor::EventSlot:
      return pipe_.can_queue_event();
    default:
      return false;
  }
}

packets::Packet CommandProcessor::packet_of(const InFlightPacket& in_flight) const {
  const bool aql = is_aql() && !in_flight.place.in_ib;
  return packets::next_packet(aql ? packets::Language::Aql : packets::Language::Pm4,
                              in_flight.dwords(), gpu_.config.target->family);
}

std::expected<void, Fault> CommandProcessor::take_completion() {
  const ComputePipe::Completion completion = pipe_.take_completion();
  Observer* const observer = gpu_.observer;
  if (!observer) return handle(completion);
  accesses_.clear();
  port_.record_to(&accesses_);
  auto handled = handle(completion);
  port_.record_to(nullptr);
  if (handled) {
    observer->on_completion(ref(), completion_kind(completion.what), completion.tag, accesses_);
  }
  return handled;
}

std::expected<void, Fault> CommandProcessor::handle(const ComputePipe::Completion& completion) {
  const InFlightPacket in_flight = in_flight_[completion.tag];
  in_flight_.drop(completion.tag);
  const packets::Packet packet = packet_of(in_flight);
  std::expected<void, Fault> done;
  switch (completion.what) {
    case ComputePipe::Completion::What::DispatchFaulted:
      done = std::unexpected(completion.fault);
      break;
    case ComputePipe::Completion::What::EndOfPipe:
      done = pm4_.release(in_flight.dwords());
      break;
    case ComputePipe::Completion::What::DispatchDone:
      if (packet.language == packets::Language::Aql) done = aql_.dispatch_done(in_flight);
      break;
  }
  if (!done) return std::unexpected(locate(std::move(done).error(), packet, in_flight.place));
  return report_retired();
}

std::expected<void, Fault> CommandProcessor::packet_done() {
  if (!is_aql()) return {};
  if (!stream_.in_ib()) DOPPEL_TRY(aql_.left_ib());
  return report_retired();
}

std::expected<void, Fault> CommandProcessor::report_retired() {
  if (!is_aql() || !aql_.take_retired()) return {};
  return ring_.report(aql_.retired() * kAqlPacketDwords);
}

void CommandProcessor::stopping(const Fault& fault) {
  pipe_.abandon();
  if (is_aql()) aql_.report_error(fault);
}

void CommandProcessor::add_pending_writes(std::vector<PendingWrite>& writes) {
  for (const InFlightPacket& in_flight : in_flight_.all()) {
    if (!in_flight.used) continue;
    const packets::Packet packet = packet_of(in_flight);
    for (PendingWrite& write : foreseen_writes(packet)) {
      write.packet = fmt::format("{} {} (in flight)", packet.name(), in_flight.place.to_string());
      writes.push_back(std::move(write));
    }
  }
}

}  // namespace doppel::emu
