#include "emulator/cp/foreseen_writes.h"

#include <cstddef>

#include "core/abi/amd_signal.h"
#include "emulator/memory/atomic_op.h"

namespace doppel::emu {
namespace {

std::vector<PendingWrite> write(uint64_t address, uint64_t size) {
  return {{address, size, {}}};
}

std::vector<PendingWrite> completion(uint64_t signal) {
  if (signal == 0) return {};
  return write(signal + offsetof(abi::AmdSignal, value), sizeof(abi::AmdSignal::value));
}

std::vector<PendingWrite> of_pm4(const packets::Packet& packet) {
  switch (packet.pm4_id()) {
    case pm4::Id::ReleaseMem: {
      const auto view = packet.as<pm4::ReleaseMem>();
      if (view.data_sel() == pm4::DataSel::NONE) return {};
      return write(view.address(), view.data_sel() == pm4::DataSel::SEND_32_BIT_LOW ? 4 : 8);
    }
    case pm4::Id::WriteData: {
      const auto view = packet.as<pm4::WriteData>();
      if (view.dst_sel() != pm4::WriteDst::MEMORY && view.dst_sel() != pm4::WriteDst::TC_L2) {
        return {};
      }
      return write(view.address(), packet.payload().size_bytes());
    }
    case pm4::Id::CopyData: {
      const auto view = packet.as<pm4::CopyData>();
      if (view.dst_sel() != pm4::CopyDst::MEMORY && view.dst_sel() != pm4::CopyDst::TC_L2) {
        return {};
      }
      return write(view.dst_address(), view.count_sel() ? 8 : 4);
    }
    case pm4::Id::AtomicMem: {
      const auto view = packet.as<pm4::AtomicMem>();
      return write(view.address(), is_atomic_64(view.atomic()) ? 8 : 4);
    }
    default:
      return {};
  }
}

std::vector<PendingWrite> of_sdma(const packets::Packet& packet) {
  switch (packet.sdma_id()) {
    case sdma::Id::Fence:
      return write(packet.as<sdma::Fence>().address(), 4);
    case sdma::Id::WriteLinear:
      return write(packet.as<sdma::WriteLinear>().dst_address(), packet.payload().size_bytes());
    case sdma::Id::Atomic: {
      const auto view = packet.as<sdma::Atomic>();
      return write(view.address(), is_atomic_64(view.atomic_op()) ? 8 : 4);
    }
    case sdma::Id::TimestampGet:
      return write(packet.as<sdma::TimestampGet>().address(), 8);
    case sdma::Id::TimestampGetGlobal:
      return write(packet.as<sdma::TimestampGetGlobal>().address(), 8);
    default:
      return {};
  }
}

}  // namespace

std::vector<PendingWrite> foreseen_writes(const packets::Packet& packet) {
  switch (packet.language) {
    case packets::Language::Pm4:
      return of_pm4(packet);
    case packets::Language::Sdma:
      return of_sdma(packet);
    case packets::Language::Aql:
      // The completion signal lies at the same place in every packet.
      return packet.row ? completion(packet.as<aql::BarrierAnd>().completion_signal())
                        : std::vector<PendingWrite>{};
  }
  return {};
}

}  // namespace doppel::emu
