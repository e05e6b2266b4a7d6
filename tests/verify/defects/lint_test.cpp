// Seeded defects of single packets and dispatches.
#include "core/packets/packet.h"
#include "core/packets/pm4.h"
#include "core/packets/registers.h"
#include "tests/verify/defects/lab.h"

namespace doppel::verify::test {
namespace {

using enum RuleId;

/// A dispatch of saxpy whose packets `change` may spoil.
template <class Change>
void dispatch(Lab& lab, bool mended, Change&& change) {
  Queue& queue = *lab.gpu().default_queue(QueueKind::Pm4).value();
  BareCommands compute(queue);
  lab.saxpy(compute, lab.x(), lab.y());
  Submission submission = compute.take();
  if (!mended) change(submission);
  must(queue.submit(std::move(submission)));
}

/// The value that the submission gives the register.
uint32_t& register_in(Submission& submission, const packets::RegisterRow& row) {
  const uint32_t wanted = regs::sh_offset(row, GfxFamily::Gfx11);
  const std::span<uint32_t> dwords = submission.commands.dwords();
  packets::PacketCursor cursor(packets::Language::Pm4, dwords, GfxFamily::Gfx11);
  for (; !cursor.done(); cursor.advance()) {
    if (cursor.packet().pm4_id() != pm4::Id::SetShReg) continue;
    const uint32_t first = cursor.packet().as<pm4::SetShReg>().reg_offset();
    if (wanted < first || wanted - first >= cursor.packet().payload().size()) continue;
    return dwords[cursor.offset() + 2 + wanted - first];
  }
  ADD_FAILURE() << "the stream doesn't set " << row.name;
  return dwords[0];
}

const Defect kLint[] = {
    {"KernelWithoutItsLds",
     {LdsOutOfBounds},
     {"DISPATCH_DIRECT", "kernel reduce_sum"},
     "",
     [](Lab& lab, bool mended) {
       constexpr uint32_t kLdsSize = 0x1ff << 15;  // of COMPUTE_PGM_RSRC2
       const Program reduce = lab.load(0, "reduce");
       Queue& queue = *lab.gpu().default_queue(QueueKind::Pm4).value();
       BareCommands compute(queue);
       compute.exec(reduce.kernel("reduce_sum"), args(lab.x(), lab.y(), 256u), 1, 256);
       Submission submission = compute.take();
       if (!mended) register_in(submission, regs::COMPUTE_PGM_RSRC2) &= ~kLdsSize;
       must(queue.submit(std::move(submission)));
       lab.settle();
     }},
    {"CountOneDwordTooLong",
     {BrokenPacket},
     {"(pm4, gpu 0), DISPATCH_DIRECT"},
     "",
     [](Lab& lab, bool mended) {
       dispatch(lab, mended, [](Submission& submission) {
         packet_named(submission, "DISPATCH_DIRECT")[0] += 1u << 16;
       });
     }},
    {"ReservedBitsOfAnAcquire",
     {ReservedBits},
     {"(pm4, gpu 0), ACQUIRE_MEM"},
     "",
     [](Lab& lab, bool mended) {
       dispatch(lab, mended, [](Submission& submission) {
         packet_named(submission, "ACQUIRE_MEM")[7] |= 1u << 31;
       });
     }},
    {"RegisterThatIsNot",
     {UnknownRegister},
     {"(pm4, gpu 0), SET_SH_REG"},
     "",
     [](Lab& lab, bool mended) {
       Queue& queue = *lab.gpu().default_queue(QueueKind::Pm4).value();
       const uint32_t place = regs::sh_offset(regs::COMPUTE_USER_DATA_0, GfxFamily::Gfx11);
       const uint32_t dwords[] = {0xc0017600, mended ? place : 0x3ff, 0};
       must(queue.submit(raw(queue, dwords)));
     }},
    {"PollThatGivesUp",
     {SuspiciousPacket},
     {"(sdma, gpu 0), POLL_REGMEM"},
     "",
     [](Lab& lab, bool mended) {
       Queue& queue = *lab.gpu().default_queue(QueueKind::Sdma).value();
       const Signal& ready = lab.signal(1);
       Bare<SdmaCommands> sdma(queue);
       sdma.wait(ready, 1);
       Submission submission = sdma.take();
       if (!mended) submission.commands.dwords()[5] = 0x00040010;
       must(queue.submit(std::move(submission)));
     }},
    {"FewerVgprsThanTheCodeUses",
     {KernelFault},
     {"(pm4, gpu 0), DISPATCH_DIRECT", "kernel"},
     "",
     [](Lab& lab, bool mended) {
       constexpr uint32_t kSide = 32;
       const Program program = lab.load(0, "matmul");
       Queue& queue = *lab.gpu().default_queue(QueueKind::Pm4).value();
       BareCommands compute(queue);
       compute.exec(program.kernel("matmul"), args(lab.x(), lab.y(), lab.z(), kSide),
                    Dim3(kSide / 16, kSide / 16), Dim3(16, 16));
       Submission submission = compute.take();
       if (!mended) register_in(submission, regs::COMPUTE_PGM_RSRC1) &= ~0x3fu;
       must(queue.submit(std::move(submission)));
       lab.settle();
     }},
    {"PacketOfAnotherGeneration",
     {BrokenPacket},
     {"(sdma, gpu 0)"},
     "",
     [](Lab& lab, bool mended) {
       Queue& queue = *lab.gpu().default_queue(QueueKind::Sdma).value();
       const uint32_t dwords[] = {mended ? 0u : 0xffu};
       must(queue.submit(raw(queue, dwords)));
     }},
};

DOPPEL_DEFECTS(Lint, kLint);

}  // namespace
}  // namespace doppel::verify::test
