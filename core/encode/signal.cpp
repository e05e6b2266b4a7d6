// Signalling: a value in memory, and the event behind it.
#include <fmt/format.h>

#include "core/command_encoder.h"
#include "core/encode/cache_control.h"

namespace doppel {
namespace {

/// A release at the end of everything before: stores `value`, then interrupts with `context`.
uint32_t append_release(CommandStream& stream, uint64_t address, uint64_t value, SignalWidth width,
                        uint32_t context) {
  pm4::ReleaseMem packet(stream.family());
  packet.event_type(pm4::EventType::CACHE_FLUSH_AND_INV_TS_EVENT)
      .event_index(pm4::ReleaseIndex::END_OF_PIPE)
      .data_sel(width == SignalWidth::Bits64 ? pm4::DataSel::SEND_64_BIT_DATA
                                             : pm4::DataSel::SEND_32_BIT_LOW)
      .int_sel(pm4::IntSel::SEND_INTERRUPT_AFTER_WRITE_CONFIRM)
      .address(address)
      .data(value)
      .int_ctxid(context);
  set_full_release(packet, stream.family());
  return stream.append(packet);
}

uint32_t append_fence(CommandStream& stream, uint64_t address, uint32_t value) {
  sdma::Fence packet(stream.family());
  packet.address(address).data(value);
  if (sdma::Fence::mtype_field.in(stream.family()).present()) packet.mtype(sdma::Mtype::UC);
  return stream.append(packet);
}

}  // namespace

void SignalPatch::set_signal(std::span<uint32_t> dwords, const SignalRef& ref) const {
  DOPPEL_ASSERT(static_cast<bool>(mailbox_address) == (ref.mailbox_address != 0),
                "a patched signal has a mailbox exactly if the encoded one had");
  address.set(dwords, ref.value_address());
  if (!mailbox_address) return;
  mailbox_address.set(dwords, ref.mailbox_address);
  if (mailbox_value64) mailbox_value64.set(dwords, ref.event_id);
  if (mailbox_value32) mailbox_value32.set(dwords, ref.event_id);
  event_id.set(dwords, ref.event_id);
}

void SignalPatch::set_value(std::span<uint32_t> dwords, uint64_t value) const {
  if (value64) value64.set(dwords, value);
  if (value32) value32.set(dwords, static_cast<uint32_t>(value));
}

SignalPatch Pm4Encoder::signal(const SignalRef& signal, uint64_t value, SignalWidth width) {
  using Packet = pm4::ReleaseMem;
  SignalPatch patch;
  const uint32_t packet = append_release(stream_, signal.value_address(), value, width, 0);
  patch.address = stream_.patch<uint64_t>(packet, Packet::address_field);
  patch.value64 = stream_.patch<uint64_t>(packet, Packet::data_field);
  if (signal.mailbox_address == 0) return patch;
  const uint32_t mailbox = append_release(stream_, signal.mailbox_address, signal.event_id,
                                          SignalWidth::Bits32, signal.event_id);
  patch.mailbox_address = stream_.patch<uint64_t>(mailbox, Packet::address_field);
  patch.mailbox_value64 = stream_.patch<uint64_t>(mailbox, Packet::data_field);
  patch.event_id = stream_.patch<uint32_t>(mailbox, Packet::int_ctxid_field);
  return patch;
}

SignalPatch SdmaEncoder::signal(const SignalRef& signal, uint64_t value) {
  using Packet = sdma::Fence;
  SignalPatch patch;
  if (value > 0xffffffff) {
    stream_.fail(
        Status(StatusCode::OutOfRange,
               fmt::format("A fence stores 32 bits, and the value has more (0x{:x}).", value)));
    return patch;
  }
  const uint64_t max_event = sdma::Trap::int_context_field.in(stream_.family()).max();
  if (signal.mailbox_address != 0 && signal.event_id > max_event) {
    stream_.fail(
        Status(StatusCode::OutOfRange,
               fmt::format("The event's id does not fit a trap (0x{:x}).", signal.event_id)));
    return patch;
  }
  const uint32_t packet =
      append_fence(stream_, signal.value_address(), static_cast<uint32_t>(value));
  patch.address = stream_.patch<uint64_t>(packet, Packet::address_field);
  patch.value32 = stream_.patch<uint32_t>(packet, Packet::data_field);
  if (signal.mailbox_address == 0) return patch;
  const uint32_t mailbox = append_fence(stream_, signal.mailbox_address, signal.event_id);
  const uint32_t trap = stream_.append(sdma::Trap(stream_.family()).int_context(signal.event_id));
  patch.mailbox_address = stream_.patch<uint64_t>(mailbox, Packet::address_field);
  patch.mailbox_value32 = stream_.patch<uint32_t>(mailbox, Packet::data_field);
  patch.event_id = stream_.patch<uint32_t>(trap, sdma::Trap::int_context_field);
  return patch;
}

}  // namespace doppel
