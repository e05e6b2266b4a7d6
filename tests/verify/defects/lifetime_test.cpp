// Seeded lifetime defects: memory and signals that go too early, and work that goes too far.
#include "tests/verify/defects/lab.h"

namespace doppel::verify::test {
namespace {

using enum RuleId;

const Defect kLifetimes[] = {
    {"SourceFreedBeforeTheCopy",
     {FreedInUse, UseAfterFree},
     {"host, Allocation::release", "(sdma, gpu 0), COPY_LINEAR"},
     "source",
     [](Lab& lab, bool mended) {
       Allocation source = lab.buffer("source");
       must(lab.gpu().sdma().copy(source, lab.y()).submit());
       if (mended) lab.settle();
       must(source.release());
     }},
    {"DestinationFreedBeforeTheFill",
     {FreedInUse, UseAfterFree},
     {"host, Allocation::release", "(sdma, gpu 0), CONSTANT_FILL"},
     "out",
     [](Lab& lab, bool mended) {
       Allocation out = lab.buffer("out");
       must(lab.gpu().sdma().fill(out, 1).submit());
       if (mended) lab.settle();
       must(out.release());
     }},
    {"SourceFreedBehindAWait",
     {FreedInUse, NeverSignalled},
     {"host, Allocation::release", "(sdma, gpu 0), COPY_LINEAR"},
     "source",
     [](Lab& lab, bool mended) {
       Signal& gate = lab.signal();
       Allocation source = lab.buffer("source");
       auto queue = lab.queue(QueueKind::Sdma);
       must(SdmaCommands(*queue).wait(gate, 1).copy(source, lab.y()).submit());
       if (mended) {
         gate.set(1);
         must(queue->synchronize());
       }
       must(source.release());
       queue.reset();  // before it gets there: nothing faults, and still the order is wrong
     }},
    {"InputFreedBeforeTheDispatch",
     {UseAfterFree},
     {"host, Allocation::release", "(pm4, gpu 0), DISPATCH_DIRECT", "kernel saxpy"},
     "input",
     [](Lab& lab, bool mended) {
       Allocation input = lab.buffer("input");
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, input, lab.y());
       must(compute.submit());
       if (mended) lab.settle();
       must(input.release());
     }},
    {"InputFreedBeforeTheAqlDispatch",
     {UseAfterFree},
     {"host, Allocation::release", "(aql, gpu 0), KERNEL_DISPATCH", "kernel saxpy"},
     "input",
     [](Lab& lab, bool mended) {
       Allocation input = lab.buffer("input");
       ComputeCommands aql = lab.gpu().aql();
       lab.saxpy(aql, input, lab.y());
       must(aql.submit());
       if (mended) lab.settle();
       must(input.release());
     }},
    {"CodeFreedBeforeTheDispatch",
     {FreedInUse, UseAfterFree, KernelFault},
     {"host, Allocation::release", "(pm4, gpu 0)"},
     "code",
     [](Lab& lab, bool mended) {
       std::optional<Program> program = lab.load();
       lab.gpu().set_name(program->image(), "code");
       Queue& queue = *lab.gpu().default_queue(QueueKind::Pm4).value();
       BareCommands compute(queue);
       compute.exec(program->kernel("saxpy"), args(lab.x(), lab.y(), 2.0f, kCount), kCount / kGroup,
                    kGroup);
       Submission submission = compute.take();
       submission.keep_alive.clear();  // as if the address had been kept alone
       must(queue.submit(std::move(submission)));
       if (mended) lab.settle();
       program.reset();
     }},
    {"GridTwiceAsLargeAsTheBuffer",
     {OutOfBounds},
     {"(pm4, gpu 0), DISPATCH_DIRECT", "kernel saxpy"},
     "small",
     [](Lab& lab, bool mended) {
       const Allocation small = lab.buffer("small");
       ComputeCommands compute = lab.gpu().compute();
       const uint32_t count = mended ? kCount : 2 * kCount;
       compute.exec(lab.kernel(), args(small, small, 2.0f, count), count / kGroup, kGroup);
       must(compute.submit());
       lab.settle();
     }},
    {"CopyOfMoreThanTheSourceHas",
     {OutOfBounds},
     {"(sdma, gpu 0), COPY_LINEAR"},
     "small",
     [](Lab& lab, bool mended) {
       const Allocation small = lab.buffer("small");
       const Allocation out = lab.buffer("out", 4 * kBytes);
       const uint64_t bytes = mended ? kBytes : 2 * kBytes;
       must(lab.gpu().sdma().copy(at(small, bytes), at(out, bytes)).submit());
       lab.settle();
     }},
    {"FillBeyondTheEnd",
     {OutOfBounds},
     {"(sdma, gpu 0), CONSTANT_FILL"},
     "small",
     [](Lab& lab, bool mended) {
       const Allocation small = lab.buffer("small");
       const uint64_t bytes = mended ? kBytes : kBytes + 4;
       must(lab.gpu().sdma().fill(at(small, bytes), 7).submit());
       lab.settle();
     }},
    {"KernelReadsFreshVram",
     {UninitializedRead},
     {"DISPATCH_DIRECT", "kernel saxpy"},
     "fresh",
     [](Lab& lab, bool mended) {
       const Allocation fresh = lab.gpu().allocate(kBytes).value();
       lab.gpu().set_name(fresh, "fresh");
       const Signal& filled = lab.signal();
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) sdma.fill(fresh, 0);
       must(sdma.signal(filled, 1).submit());
       ComputeCommands compute = lab.gpu().compute();
       compute.wait(filled, 1).memory_barrier();
       lab.saxpy(compute, fresh, lab.y());
       must(compute.submit());
       lab.settle();
     }},
    {"CopyOfMoreThanWasWritten",
     {UninitializedRead},
     {"COPY_LINEAR"},
     "fresh",
     [](Lab& lab, bool mended) {
       const Allocation fresh = lab.gpu().allocate(kBytes).value();
       lab.gpu().set_name(fresh, "fresh");
       SdmaCommands sdma = lab.gpu().sdma();
       must(sdma.fill(at(fresh, mended ? kBytes : kBytes - 4), 7).copy(fresh, lab.z()).submit());
       lab.settle();
     }},
    {"CopyFromMemoryThatIsNot",
     {WildAccess},
     {"(sdma, gpu 0), COPY_LINEAR"},
     "",
     [](Lab& lab, bool mended) {
       MemoryView source = lab.x();
       if (!mended) source = {0x10000, source.size, nullptr};
       must(lab.gpu().sdma().copy(source, lab.y()).submit());
     }},
    {"KernelArgumentThatWasNotSet",
     {WildAccess},
     {"(pm4, gpu 0), DISPATCH_DIRECT", "kernel saxpy"},
     "",
     [](Lab& lab, bool mended) {
       ComputeCommands compute = lab.gpu().compute();
       MemoryView x = lab.x();
       if (!mended) x.gpu_address = 0x10000;
       compute.exec(lab.kernel(), args(x, lab.y(), 2.0f, kCount), kCount / kGroup, kGroup);
       must(compute.submit());
     }},
    {"SignalDestroyedBeforeTheFence",
     {SignalInUse},
     {"host, Signal's destructor", "(sdma, gpu 0), FENCE"},
     "signals",
     [](Lab& lab, bool mended) {
       Signal& done = lab.named_signal();
       SdmaCommands sdma = lab.gpu().sdma();
       must(sdma.copy(lab.x(), lab.y()).signal(done, 1).submit());
       if (mended) lab.settle();
       done = Signal();
     }},
    {"SignalDestroyedBeforeTheWait",
     {SignalInUse},
     {"host, Signal's destructor", "(sdma, gpu 0), POLL_REGMEM"},
     "signals",
     [](Lab& lab, bool mended) {
       Signal& ready = lab.named_signal(1);
       must(lab.gpu().sdma().wait(ready, 1).copy(lab.x(), lab.y()).submit());
       if (mended) lab.settle();
       ready = Signal();
     }},
    {"CompletionSignalOfADispatchDestroyed",
     {SignalInUse},
     {"host, Signal's destructor", "(aql, gpu 0)"},
     "signals",
     [](Lab& lab, bool mended) {
       Signal& done = lab.named_signal();
       ComputeCommands aql = lab.gpu().aql();
       lab.saxpy(aql, lab.x(), lab.y());
       must(aql.signal(done, 1).submit());
       if (mended) lab.settle();
       done = Signal();
     }},
};

DOPPEL_DEFECTS(Lifetimes, kLifetimes);

}  // namespace
}  // namespace doppel::verify::test
