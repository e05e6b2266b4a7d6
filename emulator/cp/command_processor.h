// CommandProcessor: the front-end of one compute queue, PM4 or AQL (the hardware's MEC). Owns the
// queue's registers, its pipe of dispatches, and the processors; turns what the pipe completes into
// memory writes and interrupts.
#pragma once

#include <string_view>

#include "emulator/cp/aql_processor.h"
#include "emulator/cp/pm4_processor.h"
#include "emulator/cp/stream_queue.h"

namespace doppel::emu {

class CommandProcessor final : public StreamQueue {
 public:
  CommandProcessor(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink);

 private:
  bool is_aql() const { return config_.kind == QueueKind::Aql; }
  bool at_aql_packet() const { return is_aql() && !stream_.in_ib(); }

  packets::Language language() const override;
  PacketResult execute(const packets::Packet& packet) override;
  const Wait& wait() const override;
  bool published() override;
  bool over(WaitFor what) override;
  bool has_completion() const override { return pipe_.has_completion(); }
  std::expected<void, Fault> take_completion() override;
  std::expected<void, Fault> handle(const ComputePipe::Completion& completion);
  bool drained() const override { return pipe_.idle(); }
  std::expected<void, Fault> packet_done() override;
  void stopping(const Fault& fault) override;
  void add_pending_writes(std::vector<PendingWrite>& writes) override;

  /// Tells the producer of AQL packets how far they are done.
  std::expected<void, Fault> report_retired();
  packets::Packet packet_of(const InFlightPacket& in_flight) const;

  ComputeRegisters registers_;
  ComputePipe pipe_;
  InFlightPackets in_flight_;
  Pm4Processor pm4_;
  AqlProcessor aql_;
};

}  // namespace doppel::emu
