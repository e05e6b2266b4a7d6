#include "emulator/cp/stream_queue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/abi/hsa_aql.h"
#include "core/packets/dump.h"
#include "core/status.h"
#include "emulator/verify/observer.h"

namespace doppel::emu {
namespace {

constexpr uint64_t kFetchNs = 10;
constexpr uint64_t kShortPacketDwords = 16;  // fetched at once; longer ones take a second look

/// Of a packet that does not decode: a bad one, or one that exists but is not modelled.
FaultKind fault_kind(const packets::Packet& packet) {
  if (packet.error->kind != packets::ProblemKind::UnknownPacket) return FaultKind::BadPacket;
  const uint32_t header = packet.dwords[0];
  bool known = false;
  if (packet.language == packets::Language::Pm4) {
    known = !pm4::opcode_name(pm4::Header{header}.opcode(), packet.family).empty();
  } else if (packet.language == packets::Language::Sdma) {
    known = !sdma::op_name(sdma::Header{header}.op()).empty();
  }
  return known ? FaultKind::UnsupportedPacket : FaultKind::BadPacket;
}

}  // namespace

std::string describe(const packets::Packet& packet) {
  std::string text = packet.name();
  if (packet.ok()) {
    for (const packets::FieldText& field : packets::describe_fields(packet)) {
      if (field.value != 0) {
        fmt::format_to(std::back_inserter(text), " {}={}", field.field->name, field.text);
      }
    }
    return text;
  }
  constexpr size_t kShown = 16;
  const auto shown = packet.dwords.first(std::min(packet.dwords.size(), kShown));
  return fmt::format("{} [{:08x}{}]", text, fmt::join(shown, " "),
                     packet.size > shown.size() ? " ..." : "");
}

StreamQueue::StreamQueue(GpuContext& gpu, const QueueConfig& config, InterruptSink* sink,
                         StreamOptions options)
    : HardwareQueue(gpu, config, sink), ring_(config, port_), stream_(ring_, port_, options) {}

Fault StreamQueue::locate(Fault fault, const packets::Packet& packet,
                          const PacketPlace& place) const {
  fault.packet_offset = place.ring_position;
  if (!packet.dwords.empty()) {
    fault.packet = fmt::format("{} {}", describe(packet), place.to_string());
  }
  return fault;
}

bool StreamQueue::wait_over() {
  if (wait().what() != WaitFor::AnyMemory) return over(wait().what());
  return std::ranges::any_of(wait().words(),
                             [&](const MemoryWait& word) { return satisfied(word, port_); });
}

bool StreamQueue::runnable() {
  if (faulted()) return false;
  if (has_completion()) return true;
  if (waiting_) return wait_over();
  if (loaded_) return true;
  if (ring_.paused()) return false;
  const auto available = stream_.available();
  if (gpu_.observer) note_submission(*gpu_.observer);
  if (!available) return true;
  if (*available < needed_) return false;
  return stream_.in_ib() || published();
}

void StreamQueue::notice_submission() {
  if (!gpu_.observer || faulted() || ring_.paused()) return;
  // What is wrong with the pointers is reported by the step that finds it again.
  if (ring_.submitted()) note_submission(*gpu_.observer);
}

void StreamQueue::note_submission(Observer& observer) {
  if (ring_.known_end() == noted_) return;
  noted_ = ring_.known_end();
  observer.on_submission(ref(), noted_);
}

uint64_t StreamQueue::step() {
  if (has_completion()) {
    if (auto taken = take_completion(); !taken) return stop(std::move(taken).error());
    return kFetchNs;
  }
  waiting_ = false;
  if (!loaded_) {
    const auto loaded = load();
    if (!loaded) return stop(locate(loaded.error(), packet_, stream_.place()));
    if (!*loaded) return kFetchNs;
    loaded_ = fresh_ = true;
  }
  const auto outcome = gpu_.observer ? carry_out_observed(*gpu_.observer) : carry_out();
  if (!outcome) return stop(std::move(outcome).error());
  return outcome->ns;
}

PacketResult StreamQueue::carry_out() {
  const PacketPlace place = stream_.place();
  auto outcome = execute(packet_);
  if (!outcome) return std::unexpected(locate(std::move(outcome).error(), packet_, place));
  if (auto followed = follow(*outcome); !followed) {
    return std::unexpected(locate(std::move(followed).error(), packet_, place));
  }
  return outcome;
}

PacketResult StreamQueue::carry_out_observed(Observer& observer) {
  const PacketPlace place = stream_.place();
  const QueueRef queue = ref();
  const PacketEvent event{queue, packet_, place, stream_.address()};
  if (std::exchange(fresh_, false)) observer.on_packet(event);
  accesses_.clear();
  port_.record_to(&accesses_);
  auto outcome = carry_out();
  port_.record_to(nullptr);
  if (!outcome) return outcome;
  PacketProgress progress = PacketProgress::Done;
  if (outcome->next == Next::Wait) progress = PacketProgress::Waits;
  if (outcome->next == Next::Slice) progress = PacketProgress::Slice;
  observer.on_packet_step(event, progress, accesses_);
  return outcome;
}

std::expected<bool, Fault> StreamQueue::load() {
  packet_ = {};
  const auto available = stream_.available();
  if (!available) return std::unexpected(available.error());
  uint64_t dwords = std::min(*available, std::max(needed_, kShortPacketDwords));
  if (dwords == 0) return false;
  for (;;) {
    buffer_.resize(dwords);
    DOPPEL_TRY(stream_.fetch(buffer_));
    packet_ = packets::next_packet(language(), buffer_, gpu_.config.target->family);
    if (packet_.ok()) break;
    if (packet_.error->kind != packets::ProblemKind::Truncated) {
      return fault(fault_kind(packet_), packet_.error->message);
    }
    if (!stream_.in_ib() && packet_.size > ring_.ring_dwords()) {
      return fault(FaultKind::BadPacket,
                   fmt::format("The packet is longer than the ring ({} dwords, ring {}).",
                               packet_.size, ring_.ring_dwords()));
    }
    if (packet_.size > *available) {
      if (stream_.in_ib()) return fault(FaultKind::BadPacket, packet_.error->message);
      needed_ = packet_.size;
      return false;
    }
    dwords = std::max<uint64_t>(packet_.size, dwords + 1);
  }
  needed_ = packet_.size;
  return true;
}

std::expected<void, Fault> StreamQueue::follow(const Outcome& outcome) {
  switch (outcome.next) {
    case Next::Wait:
      waiting_ = true;
      if (wait().what() == WaitFor::AnyMemory) stream_.waited();
      return {};
    case Next::Slice:
      return {};
    case Next::Packet:
      DOPPEL_TRY(stream_.advance(packet_.size));
      break;
    case Next::Skip:
      DOPPEL_TRY(stream_.skip(packet_.size, outcome.skip));
      break;
    case Next::IndirectBuffer:
      DOPPEL_TRY(stream_.enter_ib(outcome.ib_base, outcome.ib_dwords, outcome.chain, packet_.size));
      break;
  }
  ++gpu_.counters.packets;
  loaded_ = false;
  needed_ = 1;
  return packet_done();
}

uint64_t StreamQueue::stop(Fault fault) {
  loaded_ = waiting_ = false;
  stopping(fault);
  fail(std::move(fault));
  return kFetchNs;
}

bool StreamQueue::idle() {
  if (faulted()) return true;
  if (loaded_ || stream_.in_ib() || !drained()) return false;
  const auto available = stream_.available();
  return available && *available == 0;
}

std::string StreamQueue::waiting_for() {
  switch (wait().what()) {
    case WaitFor::AnyMemory:
      return wait().describe(port_);
    case WaitFor::PipeIdle:
      return "the dispatches before it";
    case WaitFor::DispatchSlot:
      return "a free dispatch slot";
    case WaitFor::Scratch:
      return "the scratch that an earlier dispatch uses";
    case WaitFor::EventSlot:
      return "room for an end-of-pipe event";
    case WaitFor::Register:
      return "a register that nothing will change";
    case WaitFor::Nothing:
      break;
  }
  return "nothing";
}

std::optional<BlockedOn> StreamQueue::blocked_on() {
  if (faulted() || runnable()) return std::nullopt;
  const PacketPlace place = stream_.place();
  BlockedOn blocked;
  blocked.vm = &port_.vm();
  blocked.place = place.to_string();
  blocked.packet_offset = place.ring_position;
  if (waiting_) {
    blocked.packet = packet_.name();
    blocked.reason =
        fmt::format("{} {} waits for {}", blocked.packet, blocked.place, waiting_for());
    blocked.words.assign(wait().words().begin(), wait().words().end());
    if (wait().what() == WaitFor::AnyMemory) blocked.cause = BlockCause::Memory;
    if (wait().what() == WaitFor::Register) blocked.cause = BlockCause::Register;
    return blocked;
  }
  if (ring_.paused()) {
    if (idle()) return std::nullopt;
    blocked.cause = BlockCause::Paused;
    blocked.reason = "paused by the driver";
    return blocked;
  }
  const auto available = stream_.available();
  if (!available || *available == 0) {
    if (drained()) return std::nullopt;
    blocked.reason = "waits for its dispatches";
    return blocked;
  }
  if (*available < needed_) {
    blocked.cause = BlockCause::Incomplete;
    blocked.reason = fmt::format("the packet {} is submitted only in part ({} of {} dwords)",
                                 blocked.place, *available, needed_);
  } else {
    blocked.cause = BlockCause::Unpublished;
    blocked.reason =
        fmt::format("the AQL packet with index {} is reserved, but its header is still INVALID",
                    place.ring_position / kAqlPacketDwords);
    blocked.words.push_back({.va = stream_.address(),
                             .reference = abi::HSA_PACKET_TYPE_INVALID,
                             .mask = 0xff,
                             .compare = Compare::NotEqual});
  }
  return blocked;
}

}  // namespace doppel::emu
