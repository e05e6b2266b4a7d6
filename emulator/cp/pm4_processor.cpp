#include "emulator/cp/pm4_processor.h"

#include <fmt/format.h>

#include <utility>

#include "emulator/memory/atomic_op.h"

namespace doppel::emu {
namespace {

using pm4::Id;

constexpr uint64_t kPacketNs = 20;
constexpr Outcome kDone{.ns = kPacketNs};

std::unexpected<Fault> unsupported(std::string_view packet, std::string_view field, auto value) {
  return fault(FaultKind::UnsupportedPacket, fmt::format("{} with this {} is not modelled ({}).",
                                                         packet, field, std::to_underlying(value)));
}

}  // namespace

PacketResult Pm4Processor::execute(const packets::Packet& packet, const PacketPlace& place) {
  switch (packet.pm4_id()) {
    case Id::Nop:
    case Id::AcquireMem:  // memory is coherent here
      return kDone;
    case Id::SetShReg:
      return set_registers(packet, regs::kShBase);
    case Id::SetUconfigReg:
      return set_registers(packet, regs::kUconfigBase);
    case Id::DispatchDirect:
      return dispatch_direct(packet, place);
    case Id::DispatchIndirect:
      return dispatch_indirect(packet, place);
    case Id::ReleaseMem:
      return release_mem(packet, place);
    case Id::WaitRegMem:
      return wait_reg_mem(packet);
    case Id::WriteData:
      return write_data(packet);
    case Id::CopyData:
      return copy_data(packet);
    case Id::AtomicMem:
      return atomic_mem(packet);
    case Id::EventWrite:
      return event_write(packet);
    case Id::IndirectBuffer:
      return indirect_buffer(packet);
    case Id::CondExec:
      return cond_exec(packet);
    case Id::PredExec:
      return pred_exec(packet);
    case Id::Unknown:
      break;
  }
  return fault(FaultKind::UnsupportedPacket,
               fmt::format("The packet is not modelled ({}).", packet.name()));
}

PacketResult Pm4Processor::wait_for(WaitFor what) {
  wait_.set(what);
  return Outcome{.next = Next::Wait, .ns = kPacketNs};
}

std::expected<void, Fault> Pm4Processor::write_register(uint32_t address, uint32_t value) {
  if (context_.registers.write(address, value)) return {};
  return fault(
      FaultKind::UnsupportedPacket,
      fmt::format("A compute queue can't write the register (dword address 0x{:x}).", address));
}

std::expected<uint32_t, Fault> Pm4Processor::read_register(uint32_t address) {
  if (auto value = context_.registers.read(address)) return *value;
  return fault(FaultKind::UnsupportedPacket,
               fmt::format("The register is not modelled (dword address 0x{:x}).", address));
}

PacketResult Pm4Processor::set_registers(const packets::Packet& packet, uint32_t window) {
  // SET_SH_REG and SET_UCONFIG_REG have the same shape.
  const uint32_t first = window + packet.as<pm4::SetUconfigReg>().reg_offset();
  const auto values = packet.payload();
  for (size_t i = 0; i < values.size(); ++i) {
    DOPPEL_TRY(write_register(first + static_cast<uint32_t>(i), values[i]));
  }
  return kDone;
}

PacketResult Pm4Processor::dispatch_direct(const packets::Packet& packet,
                                           const PacketPlace& place) {
  const auto view = packet.as<pm4::DispatchDirect>();
  return launch(packet, {view.dim_x(), view.dim_y(), view.dim_z()}, view.initiator(), place);
}

PacketResult Pm4Processor::dispatch_indirect(const packets::Packet& packet,
                                             const PacketPlace& place) {
  const auto view = packet.as<pm4::DispatchIndirect>();
  std::array<uint32_t, 3> dims{};
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto dim = context_.memory.load<uint32_t>(view.address() + 4 * i);
    if (!dim) return fault(dim.error());
    dims[i] = *dim;
  }
  return launch(packet, dims, view.initiator(), place);
}

PacketResult Pm4Processor::launch(const packets::Packet& packet, std::array<uint32_t, 3> dims,
                                  uint32_t initiator, const PacketPlace& place) {
  if (!context_.pipe.has_slot()) return wait_for(WaitFor::DispatchSlot);
  auto dispatch = context_.registers.dispatch(dims, initiator);
  if (!dispatch) return std::unexpected(std::move(dispatch).error());
  if (!context_.pipe.can_launch(*dispatch)) return wait_for(WaitFor::Scratch);
  dispatch->vm = &context_.memory.vm();
  const uint64_t tag = context_.in_flight.keep(packet.dwords, place, context_.counter());
  auto launched = context_.pipe.launch(*dispatch, tag);
  if (launched) return kDone;
  context_.in_flight.drop(tag);
  return std::unexpected(std::move(launched).error());
}

PacketResult Pm4Processor::release_mem(const packets::Packet& packet, const PacketPlace& place) {
  const auto view = packet.as<pm4::ReleaseMem>();
  switch (view.event_index()) {
    case pm4::ReleaseIndex::END_OF_PIPE:
    case pm4::ReleaseIndex::SHADER_DONE:
      break;
    default:
      return fault(FaultKind::BadPacket,
                   fmt::format("RELEASE_MEM has an end-of-pipe event index, 5 or 6 (event index "
                               "{}).",
                               std::to_underlying(view.event_index())));
  }
  if (std::to_underlying(view.dst_sel()) > std::to_underlying(pm4::ReleaseDst::TC_L2)) {
    return unsupported("RELEASE_MEM", "dst_sel", view.dst_sel());
  }
  if (context_.pipe.idle()) {
    DOPPEL_TRY(release(packet.dwords));
    return kDone;
  }
  if (!context_.pipe.can_queue_event()) return wait_for(WaitFor::EventSlot);
  context_.pipe.at_end_of_pipe(context_.in_flight.keep(packet.dwords, place, context_.counter()));
  return kDone;
}

std::expected<void, Fault> Pm4Processor::release(std::span<const uint32_t> packet) {
  const auto view = pm4::ReleaseMem::view(packet, family());
  const uint64_t va = view.address();
  std::expected<void, MemoryFault> written;
  switch (view.data_sel()) {
    case pm4::DataSel::NONE:
      break;
    case pm4::DataSel::SEND_32_BIT_LOW:
      written = context_.memory.store(va, static_cast<uint32_t>(view.data()));
      break;
    case pm4::DataSel::SEND_64_BIT_DATA:
      written = context_.memory.store(va, view.data());
      break;
    case pm4::DataSel::SEND_GPU_CLOCK_COUNTER:
    case pm4::DataSel::SEND_SYSTEM_CLOCK_COUNTER:
      written = context_.memory.store(va, context_.counter());
      break;
    case pm4::DataSel::ATOMIC_ADD32BIT_LOW: {
      const auto addend = static_cast<uint32_t>(view.data());
      auto old = context_.memory.exchange<uint32_t>(va, [&](uint32_t v) { return v + addend; });
      if (!old) return fault(old.error());
      break;
    }
    default:
      return unsupported("RELEASE_MEM", "data_sel", view.data_sel());
  }
  if (!written) return fault(written.error());
  switch (view.int_sel()) {
    case pm4::IntSel::NONE:
    case pm4::IntSel::SEND_DATA_AND_WRITE_CONFIRM:
      return {};
    case pm4::IntSel::SEND_INTERRUPT_ONLY:
    case pm4::IntSel::SEND_INTERRUPT_AFTER_WRITE_CONFIRM:
    case pm4::IntSel::UNCONDITIONALLY_SEND_INT_CTXID:
      context_.interrupts.raise(view.int_ctxid());
      return {};
    default:
      return unsupported("RELEASE_MEM", "int_sel", view.int_sel());
  }
}

PacketResult Pm4Processor::wait_reg_mem(const packets::Packet& packet) {
  const auto view = packet.as<pm4::WaitRegMem>();
  const auto compare = to_compare(view.function());
  if (!compare) {
    return fault(FaultKind::BadPacket, fmt::format("WAIT_REG_MEM has no such function ({}).",
                                                   std::to_underlying(view.function())));
  }
  wait_.clear();
  if (view.mem_space() == pm4::MemSpace::MEMORY_SPACE) {
    if (view.operation() == pm4::Operation::WR_WAIT_WR_REG) {
      return unsupported("WAIT_REG_MEM in memory", "operation", view.operation());
    }
    const auto value = context_.memory.load<uint32_t>(view.address());
    if (!value) return fault(value.error());
    if (passes(*compare, *value & view.mask(), view.reference())) return kDone;
    wait_.add({view.address(), view.reference(), view.mask(), *compare, false});
    return Outcome{.next = Next::Wait, .ns = kPacketNs};
  }
  if (view.mem_space() != pm4::MemSpace::REGISTER_SPACE) {
    return unsupported("WAIT_REG_MEM", "mem_space", view.mem_space());
  }
  uint32_t polled = view.reg_poll_addr();
  if (view.operation() == pm4::Operation::WR_WAIT_WR_REG) {
    DOPPEL_TRY(write_register(view.reg_write_addr1(), view.reference()));
    polled = view.reg_write_addr2();
  }
  const auto value = read_register(polled);
  if (!value) return std::unexpected(value.error());
  if (passes(*compare, *value & view.mask(), view.reference())) return kDone;
  return wait_for(WaitFor::Register);
}

PacketResult Pm4Processor::write_data(const packets::Packet& packet) {
  const auto view = packet.as<pm4::WriteData>();
  const auto values = packet.payload();
  const uint32_t stride = view.addr_incr() ? 0 : 1;
  for (uint32_t i = 0; i < values.size(); ++i) {
    switch (view.dst_sel()) {
      case pm4::WriteDst::MEMORY:
      case pm4::WriteDst::TC_L2: {
        const auto done = context_.memory.store(view.address() + 4 * i * stride, values[i]);
        if (!done) return fault(done.error());
        break;
      }
      case pm4::WriteDst::MEM_MAPPED_REGISTER:
        DOPPEL_TRY(write_register(view.dst_mmreg_addr() + i * stride, values[i]));
        break;
      default:
        return unsupported("WRITE_DATA", "dst_sel", view.dst_sel());
    }
  }
  return Outcome{.ns = kPacketNs + values.size()};
}

std::expected<uint64_t, Fault> Pm4Processor::copy_source(const packets::Packet& packet) {
  const auto view = packet.as<pm4::CopyData>();
  switch (view.src_sel()) {
    case pm4::CopySrc::MEMORY:
    case pm4::CopySrc::TC_L2: {
      if (view.count_sel()) {
        auto value = context_.memory.load<uint64_t>(view.src_address());
        if (!value) return fault(value.error());
        return *value;
      }
      auto value = context_.memory.load<uint32_t>(view.src_address());
      if (!value) return fault(value.error());
      return *value;
    }
    case pm4::CopySrc::MEM_MAPPED_REGISTER: {
      auto low = read_register(view.src_reg_offset());
      if (!low) return std::unexpected(low.error());
      if (!view.count_sel()) return *low;
      auto high = read_register(view.src_reg_offset() + 1);
      if (!high) return std::unexpected(high.error());
      return *low | uint64_t{*high} << 32;
    }
    case pm4::CopySrc::IMMEDIATE_DATA:
      return view.imm_data();
    case pm4::CopySrc::ATOMIC_RETURN_DATA:
      return atomic_return_;
    case pm4::CopySrc::GPU_CLOCK_COUNT:
    case pm4::CopySrc::SYSTEM_CLOCK_COUNT:
      return context_.counter();
    default:
      return unsupported("COPY_DATA", "src_sel", view.src_sel());
  }
}

std::expected<void, Fault> Pm4Processor::copy_destination(const packets::Packet& packet,
                                                          uint64_t value) {
  const auto view = packet.as<pm4::CopyData>();
  const auto low = static_cast<uint32_t>(value);
  switch (view.dst_sel()) {
    case pm4::CopyDst::MEMORY:
    case pm4::CopyDst::TC_L2: {
      const auto done = view.count_sel() ? context_.memory.store(view.dst_address(), value)
                                         : context_.memory.store(view.dst_address(), low);
      if (!done) return fault(done.error());
      return {};
    }
    case pm4::CopyDst::MEM_MAPPED_REGISTER:
      DOPPEL_TRY(write_register(view.dst_reg_offset(), low));
      if (!view.count_sel()) return {};
      return write_register(view.dst_reg_offset() + 1, static_cast<uint32_t>(value >> 32));
    default:
      return unsupported("COPY_DATA", "dst_sel", view.dst_sel());
  }
}

PacketResult Pm4Processor::copy_data(const packets::Packet& packet) {
  const auto value = copy_source(packet);
  if (!value) return std::unexpected(value.error());
  DOPPEL_TRY(copy_destination(packet, *value));
  return kDone;
}

PacketResult Pm4Processor::atomic_mem(const packets::Packet& packet) {
  const auto view = packet.as<pm4::AtomicMem>();
  if (!is_atomic(view.atomic())) return unsupported("ATOMIC_MEM", "operation", view.atomic());
  const auto old = apply_atomic(context_.memory, view.atomic(), view.address(), view.src_data(),
                                view.cmp_data());
  if (!old) return fault(old.error());
  atomic_return_ = *old;
  if (view.command() != pm4::AtomicCommand::LOOP_UNTIL_COMPARE_SATISFIED) return kDone;
  if (!is_compare_swap(view.atomic())) {
    return fault(FaultKind::BadPacket,
                 fmt::format("ATOMIC_MEM loops only on a compare-and-swap (operation 0x{:x}).",
                             std::to_underlying(view.atomic())));
  }
  const bool is_64 = is_atomic_64(view.atomic());
  const uint64_t mask = is_64 ? ~uint64_t{0} : 0xffffffff;
  if (*old == (view.cmp_data() & mask)) return kDone;
  wait_.clear();
  wait_.add({view.address(), view.cmp_data() & mask, mask, Compare::Equal, is_64});
  return Outcome{.next = Next::Wait, .ns = kPacketNs};
}

PacketResult Pm4Processor::event_write(const packets::Packet& packet) {
  const auto view = packet.as<pm4::EventWrite>();
  if (packet.size > 2) {
    return fault(FaultKind::UnsupportedPacket,
                 fmt::format("EVENT_WRITE that samples to memory is not modelled (event type "
                             "0x{:x}).",
                             std::to_underlying(view.event_type())));
  }
  switch (view.event_type()) {
    case pm4::EventType::CS_PARTIAL_FLUSH:
      return context_.pipe.idle() ? PacketResult(kDone) : wait_for(WaitFor::PipeIdle);
    case pm4::EventType::CACHE_FLUSH:  // memory is coherent here
    case pm4::EventType::CACHE_FLUSH_AND_INV_EVENT:
      return kDone;
    default:
      return unsupported("EVENT_WRITE", "event_type", view.event_type());
  }
}

PacketResult Pm4Processor::indirect_buffer(const packets::Packet& packet) {
  const auto view = packet.as<pm4::IndirectBuffer>();
  return Outcome{.next = Next::IndirectBuffer,
                 .chain = view.chain(),
                 .ib_dwords = view.ib_size(),
                 .ib_base = view.ib_base(),
                 .ns = kPacketNs};
}

PacketResult Pm4Processor::cond_exec(const packets::Packet& packet) {
  const auto view = packet.as<pm4::CondExec>();
  const auto condition = context_.memory.load<uint32_t>(view.address());
  if (!condition) return fault(condition.error());
  if (*condition != 0) return kDone;
  return Outcome{.next = Next::Skip, .skip = view.exec_count(), .ns = kPacketNs};
}

PacketResult Pm4Processor::pred_exec(const packets::Packet& packet) {
  const auto view = packet.as<pm4::PredExec>();
  // One die, number 0. The field's name differs between families, its place does not.
  const uint32_t selected = view.device_select() | view.virtual_xcc_id_select();
  if (selected & 1) return kDone;
  return Outcome{.next = Next::Skip, .skip = view.exec_count(), .ns = kPacketNs};
}

}  // namespace doppel::emu
