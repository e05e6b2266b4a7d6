#include "core/graph/kernel_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/align.h"
#include "core/assert.h"
#include "core/commands.h"
#include "core/device.h"

namespace doppel::graph {
namespace {

/// A cache line: no two nodes' arguments share one.
constexpr uint64_t kSlotAlignment = 64;

/// Only an AQL queue has the packet anyway.
bool reads_packet(const KernelInfo& kernel, QueueKind kind) {
  return kind == QueueKind::Pm4 && kernel.has_property(abi::ENABLE_SGPR_DISPATCH_PTR);
}

Result<ScratchLease> lease_scratch(Queue& queue, const KernelInfo& kernel) {
  const uint32_t private_bytes = kernel.uses_dynamic_stack
                                     ? std::max(kernel.private_bytes, LaunchOptions{}.stack_bytes)
                                     : kernel.private_bytes;
  if (private_bytes == 0) return ScratchLease{};
  return queue.scratch(private_bytes, kernel.wave_size);
}

}  // namespace

Result<KernelMemory> KernelMemory::make(const Definition& definition, const Plan& plan,
                                        std::span<Queue* const> queues) {
  KernelMemory memory;
  memory.slots_.resize(definition.nodes.size());
  for (QueueIndex queue = 0; queue < plan.queues.size(); ++queue) {
    if (plan.queues[queue].kind == QueueKind::Sdma) continue;
    DOPPEL_TRY(memory.add_queue(definition, plan, queue, *queues[queue]));
  }
  return memory;
}

Result<> KernelMemory::add_queue(const Definition& definition, const Plan& plan, QueueIndex index,
                                 Queue& queue) {
  const PlanQueue& planned = plan.queues[index];
  if (planned.steps.empty()) return {};
  const auto kernel_of = [&](StepIndex step) -> const KernelWork& {
    return std::get<KernelWork>(definition.nodes[plan.steps[step].node].work);
  };
  uint64_t end = 0;
  for (StepIndex step : planned.steps) {
    const KernelInfo& info = kernel_of(step).kernel.info();
    Slot& slot = slots_[plan.steps[step].node];
    slot.hidden = queue.hidden_args();
    slot.kernarg = end;
    end = align_up(end + std::max(info.kernarg_bytes, 1u), kSlotAlignment);
    if (reads_packet(info, planned.kind)) {
      slot.packet = end;
      end += sizeof(abi::KernelDispatchPacket);
    }
    auto scratch = lease_scratch(queue, info);
    if (!scratch) {
      return error(scratch.error().code(),
                   fmt::format("{}: {}", describe(definition, plan.steps[step].node),
                               scratch.error().message()));
    }
    slot.scratch = *std::move(scratch);
  }
  DOPPEL_ASSIGN(Allocation block,
                queue.device().allocate(
                    end, {.domain = MemoryDomain::Gtt, .coherent = true, .uncached = true}));
  std::memset(block.host(), 0, end);
  blocks_.push_back(std::make_unique<Allocation>(std::move(block)));
  for (StepIndex step : planned.steps) {
    slots_[plan.steps[step].node].block = blocks_.back().get();
    write(plan.steps[step].node, kernel_of(step));
  }
  return {};
}

void KernelMemory::write(NodeId node, const KernelWork& work) {
  Slot& slot = slots_[node];
  const KernelInfo& info = work.kernel.info();
  HiddenArgs hidden = slot.hidden;
  hidden.dynamic_group_bytes = group_segment_bytes(info, work.args) - info.group_bytes;
  const std::span out(slot.block->host() + slot.kernarg, info.kernarg_bytes);
  const auto packed = pack_kernel_args(info, work.args, work.dims, hidden, out);
  DOPPEL_ASSERT(packed.has_value(), "a graph's kernel arguments are checked when they are set");
  if (slot.packet == 0) return;

  CommandStream stream(packets::Language::Aql, work.kernel.target().family);
  AqlEncoder(stream).exec(command(node, work));
  std::memcpy(slot.block->host() + slot.packet, stream.dwords().data(),
              sizeof(abi::KernelDispatchPacket));
}

DispatchCommand KernelMemory::command(NodeId node, const KernelWork& work) const {
  const Slot& slot = slots_[node];
  return {.kernel = &work.kernel.info(),
          .entry_address = work.kernel.entry_address(),
          .descriptor_address = work.kernel.descriptor_address(),
          .dims = work.dims,
          .kernarg_address = slot.address(slot.kernarg),
          .dispatch_packet_address = slot.packet == 0 ? 0 : slot.address(slot.packet),
          .group_bytes = group_segment_bytes(work.kernel.info(), work.args),
          .scratch = slot.scratch.ring,
          .completion = {}};
}

}  // namespace doppel::graph
