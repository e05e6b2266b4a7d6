// Storing the GPU's counter (core/clock.h: 100 MHz ticks).
#include "core/command_encoder.h"

namespace doppel {

TimestampPatch Pm4Encoder::timestamp(uint64_t address) {
  using Packet = pm4::ReleaseMem;
  const uint32_t packet =
      stream_.append(Packet(stream_.family())
                         .event_type(pm4::EventType::CACHE_FLUSH_AND_INV_TS_EVENT)
                         .event_index(pm4::ReleaseIndex::END_OF_PIPE)
                         .data_sel(pm4::DataSel::SEND_GPU_CLOCK_COUNTER)
                         .int_sel(pm4::IntSel::NONE)
                         .address(address));
  return {stream_.patch<uint64_t>(packet, Packet::address_field)};
}

TimestampPatch SdmaEncoder::timestamp(uint64_t address) {
  using Packet = sdma::TimestampGetGlobal;
  const uint32_t packet = stream_.append(Packet(stream_.family()).address(address));
  return {stream_.patch<uint64_t>(packet, Packet::address_field)};
}

}  // namespace doppel
