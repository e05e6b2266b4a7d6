// Waiting for a signal on the device.
#include <fmt/format.h>

#include "core/command_encoder.h"

namespace doppel {
namespace {

pm4::Function pm4_function(SignalCondition condition) {
  switch (condition) {
    case SignalCondition::GreaterEqual:
      return pm4::Function::GREATER_THAN_OR_EQUAL_REFERENCE_VALUE;
    case SignalCondition::Equal:
      return pm4::Function::EQUAL_TO_THE_REFERENCE_VALUE;
    case SignalCondition::NotEqual:
      return pm4::Function::NOT_EQUAL_REFERENCE_VALUE;
    case SignalCondition::Less:
      return pm4::Function::LESS_THAN_REF_VALUE;
  }
  return pm4::Function::ALWAYS_PASS;
}

sdma::PollFunction sdma_function(SignalCondition condition) {
  switch (condition) {
    case SignalCondition::GreaterEqual:
      return sdma::PollFunction::GREATER_EQUAL;
    case SignalCondition::Equal:
      return sdma::PollFunction::EQUAL;
    case SignalCondition::NotEqual:
      return sdma::PollFunction::NOT_EQUAL;
    case SignalCondition::Less:
      return sdma::PollFunction::LESS;
  }
  return sdma::PollFunction::ALWAYS;
}

aql::SignalCondition aql_condition(SignalCondition condition) {
  switch (condition) {
    case SignalCondition::GreaterEqual:
      return aql::SignalCondition::GTE;
    case SignalCondition::Equal:
      return aql::SignalCondition::EQ;
    case SignalCondition::NotEqual:
      return aql::SignalCondition::NE;
    case SignalCondition::Less:
      return aql::SignalCondition::LT;
  }
  return aql::SignalCondition::EQ;
}

/// PM4 and SDMA compare the low 32 bits; a larger value could never be met as meant.
bool check_value(CommandStream& stream, uint64_t value) {
  if (value <= 0xffffffff) return true;
  stream.fail(
      Status(StatusCode::OutOfRange,
             fmt::format("The device compares 32 bits of a signal, and the wanted value has "
                         "more (0x{:x}).",
                         value)));
  return false;
}

}  // namespace

void WaitPatch::set_signal(std::span<uint32_t> dwords, const SignalRef& ref) const {
  if (address) address.set(dwords, ref.value_address());
  if (signal) signal.set(dwords, ref.address);
}

void WaitPatch::set_value(std::span<uint32_t> dwords, uint64_t wanted) const {
  if (value) value.set(dwords, static_cast<uint32_t>(wanted));
  if (value64) value64.set(dwords, wanted);
}

WaitPatch Pm4Encoder::wait(const SignalRef& signal, uint64_t value, SignalCondition condition) {
  if (!check_value(stream_, value)) return {};
  using Packet = pm4::WaitRegMem;
  constexpr uint32_t kPollInterval = 4;
  const uint32_t packet = stream_.append(Packet(stream_.family())
                                             .mem_space(pm4::MemSpace::MEMORY_SPACE)
                                             .operation(pm4::Operation::WAIT_REG_MEM)
                                             .function(pm4_function(condition))
                                             .address(signal.value_address())
                                             .reference(static_cast<uint32_t>(value))
                                             .mask(0xffffffff)
                                             .poll_interval(kPollInterval));
  WaitPatch patch;
  patch.address = stream_.patch<uint64_t>(packet, Packet::address_field);
  patch.value = stream_.patch<uint32_t>(packet, Packet::reference_field);
  return patch;
}

WaitPatch SdmaEncoder::wait(const SignalRef& signal, uint64_t value, SignalCondition condition) {
  if (!check_value(stream_, value)) return {};
  using Packet = sdma::PollRegmem;
  constexpr uint32_t kInterval = 4;
  const uint32_t packet = stream_.append(Packet(stream_.family())
                                             .mem_poll(true)
                                             .func(sdma_function(condition))
                                             .address(signal.value_address())
                                             .value(static_cast<uint32_t>(value))
                                             .mask(0xffffffff)
                                             .interval(kInterval)
                                             .retry_count(sdma::kPollForEver));
  WaitPatch patch;
  patch.address = stream_.patch<uint64_t>(packet, Packet::address_field);
  patch.value = stream_.patch<uint32_t>(packet, Packet::value_field);
  return patch;
}

WaitPatch AqlEncoder::wait(const SignalRef& signal, uint64_t value, SignalCondition condition) {
  using Packet = aql::VendorBarrierValue;
  const uint32_t packet = stream_.append(Packet(stream_.family())
                                             .barrier(true)
                                             .acquire_scope(aql::FenceScope::SYSTEM)
                                             .release_scope(aql::FenceScope::SYSTEM)
                                             .signal(signal.address)
                                             .value(value)
                                             .mask(~uint64_t{0})
                                             .cond(aql_condition(condition)));
  WaitPatch patch;
  patch.signal = stream_.patch<uint64_t>(packet, Packet::signal_field);
  patch.value64 = stream_.patch<uint64_t>(packet, Packet::value_field);
  return patch;
}

}  // namespace doppel
