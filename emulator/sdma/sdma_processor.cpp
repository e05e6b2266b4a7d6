#include "emulator/sdma/sdma_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/packets/registers.h"
#include "emulator/memory/atomic_op.h"
#include "emulator/sdma/copy_bytes.h"

namespace doppel::emu {
namespace {

using sdma::Id;

constexpr uint64_t kPacketNs = 50;
constexpr uint64_t kBytesPerNs = 32;  // 32 GB/s, about what one engine moves
constexpr uint64_t kSliceBytes = 256 * 1024;
constexpr Outcome kDone{.ns = kPacketNs};

std::unexpected<Fault> unsupported(std::string_view packet, std::string_view what) {
  return fault(FaultKind::UnsupportedPacket,
               fmt::format("{} with {} is not modelled.", packet, what));
}

/// An image of COPY_LINEAR_SUBWIN.
struct Window {
  uint64_t address = 0;
  uint64_t x = 0, y = 0, z = 0;
  uint64_t pitch = 0, slice_pitch = 0;  // elements

  uint64_t row(uint64_t row_y, uint64_t row_z, uint64_t element_bytes) const {
    return address + (x + (y + row_y) * pitch + (z + row_z) * slice_pitch) * element_bytes;
  }
};

}  // namespace

PacketResult SdmaProcessor::execute(const packets::Packet& packet) {
  switch (packet.sdma_id()) {
    case Id::Nop:
    case Id::GcrReq:  // memory is coherent here
      return kDone;
    case Id::CopyLinear:
      return copy_linear(packet);
    case Id::CopyLinearSubwin:
      return copy_subwindow(packet);
    case Id::WriteLinear:
      return write_linear(packet);
    case Id::ConstantFill:
      return constant_fill(packet);
    case Id::Fence:
      return fence(packet);
    case Id::Trap:
      return trap(packet);
    case Id::PollRegmem:
      return poll_regmem(packet);
    case Id::Atomic:
      return atomic(packet);
    case Id::TimestampSet:
      return timestamp_set(packet);
    case Id::TimestampGet:
      return timestamp_get(packet.as<sdma::TimestampGet>().address(),
                           global_counter() + counter_offset_);
    case Id::TimestampGetGlobal:
      return timestamp_get(packet.as<sdma::TimestampGetGlobal>().address(), global_counter());
    case Id::CondExe:
      return cond_exe(packet);
    case Id::Indirect:
      return indirect(packet);
    case Id::Unknown:
      break;
  }
  return emu::fault(FaultKind::UnsupportedPacket,
                    fmt::format("The packet is not modelled ({}).", packet.name()));
}

Outcome SdmaProcessor::progress(uint64_t bytes, uint64_t total) {
  done_ += bytes;
  const bool complete = done_ == total;
  if (complete) done_ = 0;
  return {.next = complete ? Next::Packet : Next::Slice, .ns = kPacketNs + bytes / kBytesPerNs};
}

PacketResult SdmaProcessor::copy_linear(const packets::Packet& packet) {
  const auto view = packet.as<sdma::CopyLinear>();
  if (view.broadcast()) return unsupported("COPY_LINEAR", "two destinations (broadcast)");
  if (view.encrypt() || view.tmz()) return unsupported("COPY_LINEAR", "encryption");
  if (view.cpv() && view.compression()) return unsupported("COPY_LINEAR", "compression");
  if (view.dst_sw() || view.src_sw()) return unsupported("COPY_LINEAR", "byte swapping");
  const uint64_t total = uint64_t{view.count()} + 1;
  const uint64_t bytes = std::min(kSliceBytes, total - done_);
  const bool backwards = view.backwards();
  const uint64_t offset = backwards ? total - done_ - bytes : done_;
  const auto copied =
      copy_bytes(context_.memory.vm(), view.dst_address() + offset, view.src_address() + offset,
                 bytes, backwards ? CopyDirection::Backwards : CopyDirection::Forwards);
  if (!copied) return emu::fault(copied.error());
  context_.memory.note(view.src_address() + offset, bytes, AccessMode::Read);
  context_.memory.note(view.dst_address() + offset, bytes, AccessMode::Write);
  return progress(bytes, total);
}

PacketResult SdmaProcessor::copy_subwindow(const packets::Packet& packet) {
  const auto view = packet.as<sdma::CopyLinearSubwin>();
  if (view.elementsize() > sdma::ElementSize::BYTES_16) {
    return emu::fault(FaultKind::BadPacket,
                      fmt::format("COPY_LINEAR_SUBWIN has no such element size ({}).",
                                  std::to_underlying(view.elementsize())));
  }
  if (view.tmz()) return unsupported("COPY_LINEAR_SUBWIN", "encryption");
  if (view.dst_sw() || view.src_sw()) return unsupported("COPY_LINEAR_SUBWIN", "byte swapping");
  const uint64_t element = uint64_t{1} << std::to_underlying(view.elementsize());
  const Window source{view.src_address(),
                      view.src_x(),
                      view.src_y(),
                      view.src_z(),
                      view.src_pitch() + uint64_t{1},
                      view.src_slice_pitch() + uint64_t{1}};
  const Window destination{view.dst_address(),
                           view.dst_x(),
                           view.dst_y(),
                           view.dst_z(),
                           view.dst_pitch() + uint64_t{1},
                           view.dst_slice_pitch() + uint64_t{1}};
  const uint64_t row_bytes = (view.rect_x() + uint64_t{1}) * element;
  const uint64_t rows = view.rect_y() + uint64_t{1};
  const uint64_t total_rows = rows * (view.rect_z() + uint64_t{1});
  const uint64_t slice_rows =
      std::min(std::max<uint64_t>(kSliceBytes / row_bytes, 1), total_rows - done_);
  for (uint64_t row = done_; row < done_ + slice_rows; ++row) {
    const uint64_t to = destination.row(row % rows, row / rows, element);
    const uint64_t from = source.row(row % rows, row / rows, element);
    const auto copied =
        copy_bytes(context_.memory.vm(), to, from, row_bytes, CopyDirection::Forwards);
    if (!copied) return emu::fault(copied.error());
    context_.memory.note(from, row_bytes, AccessMode::Read);
    context_.memory.note(to, row_bytes, AccessMode::Write);
  }
  Outcome outcome = progress(slice_rows, total_rows);
  outcome.ns = kPacketNs + slice_rows * row_bytes / kBytesPerNs;
  return outcome;
}

PacketResult SdmaProcessor::write_linear(const packets::Packet& packet) {
  const auto view = packet.as<sdma::WriteLinear>();
  if (view.encrypt() || view.tmz()) return unsupported("WRITE_UNTILED", "encryption");
  if (view.sw()) return unsupported("WRITE_UNTILED", "byte swapping");
  const auto payload = packet.payload();
  const uint64_t va = view.dst_address();
  if (va % 4 != 0) return emu::fault(context_.memory.vm().fault_at(va, 4, Access::Write));
  const auto written = context_.memory.write(va, std::as_bytes(payload));
  if (!written) return emu::fault(written.error());
  return Outcome{.ns = kPacketNs + payload.size_bytes() / kBytesPerNs};
}

PacketResult SdmaProcessor::constant_fill(const packets::Packet& packet) {
  const auto view = packet.as<sdma::ConstantFill>();
  if (view.fillsize() > sdma::FillSize::DWORD) {
    return emu::fault(FaultKind::BadPacket, fmt::format("CONSTANT_FILL has no such fill size ({}).",
                                                        std::to_underlying(view.fillsize())));
  }
  if (view.sw()) return unsupported("CONSTANT_FILL", "byte swapping");
  const uint32_t element = 1u << std::to_underlying(view.fillsize());
  if (view.dst_address() % element != 0) {
    return emu::fault(context_.memory.vm().fault_at(view.dst_address(), element, Access::Write));
  }
  const uint64_t total = sdma::fill_bytes(view.count(), view.fillsize());
  const uint64_t bytes = std::min(kSliceBytes, total - done_);
  const auto filled =
      fill_bytes(context_.memory.vm(), view.dst_address() + done_, bytes, view.src_data(), element);
  if (!filled) return emu::fault(filled.error());
  context_.memory.note(view.dst_address() + done_, bytes, AccessMode::Write);
  return progress(bytes, total);
}

PacketResult SdmaProcessor::fence(const packets::Packet& packet) {
  const auto view = packet.as<sdma::Fence>();
  const auto written = context_.memory.store<uint32_t>(view.address(), view.data());
  if (!written) return emu::fault(written.error());
  return kDone;
}

PacketResult SdmaProcessor::trap(const packets::Packet& packet) {
  context_.interrupts.raise(packet.as<sdma::Trap>().int_context());
  return kDone;
}

PacketResult SdmaProcessor::poll_regmem(const packets::Packet& packet) {
  const auto view = packet.as<sdma::PollRegmem>();
  const auto compare = to_compare(view.func());
  if (!compare) {
    return emu::fault(FaultKind::BadPacket, fmt::format("POLL_REGMEM has no such function ({}).",
                                                        std::to_underlying(view.func())));
  }
  if (!view.mem_poll()) {
    // The flush of the host data path that the packet asks for, or polls, is instantaneous: every
    // client's bit of the acknowledgement is set.
    const uint32_t acknowledgement = regs::BIF_BX_PF0_GPU_HDP_FLUSH_DONE.in(family());
    const bool known = view.hdp_flush() || view.reg_poll_addr() == acknowledgement * 4 ||
                       *compare == Compare::Always;
    if (known && passes(*compare, view.mask(), view.value())) return kDone;
    return unsupported("POLL_REGMEM", fmt::format("register byte address 0x{:x}, and value 0x{:x}",
                                                  view.reg_poll_addr(), view.value()));
  }
  const auto value = context_.memory.load<uint32_t>(view.address());
  if (!value) return emu::fault(value.error());
  if (passes(*compare, *value & view.mask(), view.value())) return kDone;
  if (view.retry_count() != sdma::kPollForEver) {
    return unsupported("POLL_REGMEM", fmt::format("an unfulfilled condition and a limit of polls "
                                                  "(retry_count 0x{:x})",
                                                  view.retry_count()));
  }
  wait_.clear();
  wait_.add({view.address(), view.value(), view.mask(), *compare, false});
  return Outcome{.next = Next::Wait, .ns = kPacketNs};
}

PacketResult SdmaProcessor::atomic(const packets::Packet& packet) {
  const auto view = packet.as<sdma::Atomic>();
  const auto op = view.atomic_op();
  if (view.tmz()) return unsupported("ATOMIC", "encryption");
  if (!is_atomic(op)) {
    return unsupported("ATOMIC", fmt::format("operation 0x{:02x}", std::to_underlying(op)));
  }
  const auto old =
      apply_atomic(context_.memory, op, view.address(), view.src_data(), view.cmp_data());
  if (!old) return emu::fault(old.error());
  if (!view.loop()) return kDone;
  if (!is_compare_swap(op)) {
    return emu::fault(FaultKind::BadPacket,
                      fmt::format("ATOMIC loops only on a compare-and-swap (operation 0x{:02x}).",
                                  std::to_underlying(op)));
  }
  const uint64_t mask = is_atomic_64(op) ? ~uint64_t{0} : 0xffffffff;
  if (*old == (view.cmp_data() & mask)) return kDone;
  wait_.clear();
  wait_.add({view.address(), view.cmp_data() & mask, mask, Compare::Equal, is_atomic_64(op)});
  return Outcome{.next = Next::Wait, .ns = kPacketNs};
}

PacketResult SdmaProcessor::timestamp_set(const packets::Packet& packet) {
  counter_offset_ = packet.as<sdma::TimestampSet>().init_data() - global_counter();
  return kDone;
}

PacketResult SdmaProcessor::timestamp_get(uint64_t va, uint64_t value) {
  const auto written = context_.memory.store<uint64_t>(va, value);
  if (!written) return emu::fault(written.error());
  return kDone;
}

PacketResult SdmaProcessor::cond_exe(const packets::Packet& packet) {
  const auto view = packet.as<sdma::CondExe>();
  const auto value = context_.memory.load<uint32_t>(view.address());
  if (!value) return emu::fault(value.error());
  if (*value == view.reference()) return kDone;
  return Outcome{.next = Next::Skip, .skip = view.exec_count(), .ns = kPacketNs};
}

PacketResult SdmaProcessor::indirect(const packets::Packet& packet) {
  const auto view = packet.as<sdma::Indirect>();
  return Outcome{.next = Next::IndirectBuffer,
                 .ib_dwords = view.ib_size(),
                 .ib_base = view.ib_base(),
                 .ns = kPacketNs};
}

}  // namespace doppel::emu
