// Seeded stalls: waits that never end.
#include "core/abi/hsa_aql.h"
#include "tests/verify/defects/lab.h"

namespace doppel::verify::test {
namespace {

using enum RuleId;

constexpr SignalCondition kEqual = SignalCondition::Equal;
constexpr SignalCondition kLess = SignalCondition::Less;

const Defect kStalls[] = {
    {"QueuesThatWaitForOneAnother",
     {Deadlock},
     {"(pm4, gpu 0), WAIT_REG_MEM", "(sdma, gpu 0), POLL_REGMEM"},
     "",
     [](Lab& lab, bool mended) {
       const Signal &a = lab.signal(), &b = lab.signal();
       must(lab.gpu().compute().wait(a, 1).signal(b, 1).submit());
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) sdma.signal(a, 1);
       sdma.wait(b, 1);
       if (!mended) sdma.signal(a, 1);
       must(sdma.submit());
       lab.settle();
     }},
    {"ThreeQueuesInACircle",
     {Deadlock},
     {"(pm4, gpu 0)", "(aql, gpu 0)", "(sdma, gpu 0)"},
     "",
     [](Lab& lab, bool mended) {
       const Signal &a = lab.signal(), &b = lab.signal(), &c = lab.signal();
       must(lab.gpu().compute().wait(a, 1).signal(b, 1).submit());
       must(lab.gpu().aql().wait(b, 1).signal(c, 1).submit());
       must(lab.gpu().sdma().wait(c, mended ? 0 : 1).signal(a, 1).submit());
       lab.settle();
     }},
    {"GpusThatWaitForOneAnother",
     {Deadlock},
     {"gpu 0), POLL_REGMEM", "gpu 1), POLL_REGMEM"},
     "",
     [](Lab& lab, bool mended) {
       const Signal &a = lab.signal(), &b = lab.signal();
       must(lab.gpu(0).sdma().wait(a, mended ? 0 : 1).signal(b, 1).submit());
       must(lab.gpu(1).sdma().wait(b, 1).signal(a, 1).submit());
       lab.settle();
     },
     2},
    {"SdmaProducerBehindItsConsumer",
     {ProducerBehindConsumer},
     {"(sdma, gpu 0), POLL_REGMEM", "FENCE"},
     "",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.signal();
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) sdma.signal(a, 1);
       sdma.wait(a, 1);
       if (!mended) sdma.signal(a, 1);
       must(sdma.submit());
       lab.settle();
     }},
    {"Pm4ProducerBehindItsConsumer",
     {ProducerBehindConsumer},
     {"(pm4, gpu 0), WAIT_REG_MEM", "RELEASE_MEM"},
     "",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.signal();
       ComputeCommands compute = lab.gpu().compute();
       if (mended) compute.signal(a, 1);
       compute.wait(a, 1);
       if (!mended) compute.signal(a, 1);
       must(compute.submit());
       lab.settle();
     }},
    {"AqlProducerBehindItsConsumer",
     {ProducerBehindConsumer},
     {"(aql, gpu 0)"},
     "",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.signal();
       ComputeCommands aql = lab.gpu().aql();
       if (mended) aql.signal(a, 1);
       aql.wait(a, 1);
       if (!mended) aql.signal(a, 1);
       must(aql.submit());
       lab.settle();
     }},
    {"SdmaWaitsForMoreThanIsEverStored",
     {NeverSignalled},
     {"(sdma, gpu 0), POLL_REGMEM"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.named_signal();
       must(lab.gpu().compute().signal(a, 1).submit());
       must(lab.gpu().sdma().wait(a, mended ? 1 : 2).submit());
       lab.settle();
     }},
    {"Pm4WaitsForASignalOfNobody",
     {NeverSignalled},
     {"(pm4, gpu 0), WAIT_REG_MEM"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal &a = lab.named_signal(), &b = lab.signal();
       must(lab.gpu().sdma().signal(b, 1).submit());
       must(lab.gpu().compute().wait(mended ? b : a, 1).submit());
       lab.settle();
     }},
    {"AqlWaitsForASignalOfNobody",
     {NeverSignalled},
     {"(aql, gpu 0)"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal &a = lab.named_signal(), &b = lab.signal();
       must(lab.gpu().sdma().signal(b, 1).submit());
       must(lab.gpu().aql().wait(mended ? b : a, 1).submit());
       lab.settle();
     }},
    {"HostWaitsForASignalOfNobody",
     {NeverSignalled},
     {"host, Signal::wait"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.named_signal();
       SdmaCommands sdma = lab.gpu().sdma();
       sdma.copy(lab.x(), lab.y());
       if (mended) sdma.signal(a, 1);
       must(sdma.submit());
       EXPECT_EQ(a.wait(1).has_value(), mended);
     }},
    {"SubmissionThatWasForgotten",
     {NeverSignalled},
     {"host, Signal::wait"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.named_signal();
       Queue& queue = *lab.gpu().default_queue(QueueKind::Pm4).value();
       BareCommands compute(queue);
       compute.signal(a, 1);
       Submission submission = compute.take();
       if (mended) must(queue.submit(std::move(submission)));
       EXPECT_EQ(a.wait(1).has_value(), mended);
     }},
    {"ValueThatIsGoneBeforeTheWaitLooks",
     {LostSignal},
     {"FENCE", "(pm4, gpu 0), WAIT_REG_MEM"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.named_signal();
       must(lab.gpu().sdma().signal(a, 1).signal(a, 2).submit());
       lab.settle();
       must(lab.gpu().compute().wait(a, mended ? 2 : 1, kEqual).submit());
       lab.settle();
     }},
    {"HostTakesItsSignalBack",
     {LostSignal},
     {"host, Signal::set", "(sdma, gpu 0), POLL_REGMEM"},
     "signals",
     [](Lab& lab, bool mended) {
       Signal& a = lab.named_signal();
       a.set(1);
       if (!mended) a.set(0);
       must(lab.gpu().sdma().wait(a, 1).submit());
       lab.settle();
     }},
    {"WaitInTheWrongDirection",
     {WrongDirectionWait},
     {"FENCE", "(pm4, gpu 0), WAIT_REG_MEM"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.named_signal(5);
       must(lab.gpu().sdma().signal(a, 6).submit());
       lab.settle();
       must(lab.gpu().compute().wait(a, mended ? 7 : 5, kLess).submit());
       lab.settle();
     }},
    {"TimelineThatCountsDown",
     {WrongDirectionWait},
     {"RELEASE_MEM", "(sdma, gpu 0), POLL_REGMEM"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal& a = lab.named_signal(3);
       must(lab.gpu().compute().signal(a, 2).signal(a, 1).submit());
       lab.settle();
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) {
         sdma.wait(a, 2, kLess);
       } else {
         sdma.wait(a, 4);
       }
       must(sdma.submit());
       lab.settle();
     }},
    {"AqlHeaderThatIsNeverStored",
     {UnpublishedPacket},
     {"(aql, gpu 0)"},
     "",
     [](Lab& lab, bool mended) {
       Queue& queue = *lab.gpu().default_queue(QueueKind::Aql).value();
       BareCommands aql(queue);
       lab.saxpy(aql, lab.x(), lab.y());
       Submission submission = aql.take();
       uint32_t& header = submission.commands.dwords()[0];
       if (!mended) header = (header & ~0xffu) | doppel::abi::HSA_PACKET_TYPE_INVALID;
       must(queue.submit(std::move(submission)));
       lab.settle();
     }},
};

DOPPEL_DEFECTS(Stalls, kStalls);

}  // namespace
}  // namespace doppel::verify::test
