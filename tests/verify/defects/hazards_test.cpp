// Seeded hazards: accesses of the same bytes that nothing orders.
#include "tests/verify/defects/lab.h"

namespace doppel::verify::test {
namespace {

using enum RuleId;

const Defect kHazards[] = {
    {"KernelThenCopyWithoutAWait",
     {ReadAfterWrite, WriteAfterRead},
     {"DISPATCH_DIRECT", "kernel saxpy", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.signal(done, 1).submit());
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) sdma.wait(done, 1);
       must(sdma.copy(lab.y(), lab.z()).submit());
     }},
    {"KernelAndFillOfTheSameBuffer",
     {WriteAfterWrite, ReadAfterWrite, WriteAfterRead},
     {"kernel saxpy", "CONSTANT_FILL"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       SdmaCommands sdma = lab.gpu().sdma();
       must(sdma.fill(lab.y(), 7).signal(done, 1).submit());
       ComputeCommands compute = lab.gpu().compute();
       if (mended) compute.wait(done, 1).memory_barrier();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.submit());
     }},
    {"UploadThatTheKernelDoesNotAwait",
     {ReadAfterWrite, WriteAfterRead},
     {"COPY_LINEAR", "kernel saxpy"},
     "x",
     [](Lab& lab, bool mended) {
       const Signal& uploaded = lab.signal();
       SdmaCommands sdma = lab.gpu().sdma();
       must(sdma.copy(lab.z(), lab.x()).signal(uploaded, 1).submit());
       ComputeCommands compute = lab.gpu().compute();
       if (mended) compute.wait(uploaded, 1).memory_barrier();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.submit());
     }},
    {"WaitForTheSignalOfAnEarlierRound",
     {ReadAfterWrite, WriteAfterRead},
     {"kernel saxpy", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, lab.x(), lab.z());
       compute.signal(done, 1).memory_barrier();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.signal(done, 2).submit());
       const Allocation out = lab.buffer("out");
       must(lab.gpu().sdma().wait(done, mended ? 2 : 1).copy(lab.y(), out).submit());
       lab.settle();
     }},
    {"SignalBeforeTheKernel",
     {ReadAfterWrite, WriteAfterRead},
     {"kernel saxpy", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands compute = lab.gpu().compute();
       if (!mended) compute.signal(done, 1);
       lab.saxpy(compute, lab.x(), lab.y());
       if (mended) compute.signal(done, 1);
       must(compute.submit());
       must(lab.gpu().sdma().wait(done, 1).copy(lab.y(), lab.z()).submit());
     }},
    {"WaitBehindTheCopy",
     {ReadAfterWrite, WriteAfterRead},
     {"kernel saxpy", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.signal(done, 1).submit());
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) {
         sdma.wait(done, 1).copy(lab.y(), lab.z());
       } else {
         sdma.copy(lab.y(), lab.z()).wait(done, 1);
       }
       must(sdma.submit());
     }},
    {"WaitForAnotherSignal",
     {ReadAfterWrite, WriteAfterRead},
     {"kernel saxpy", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal &done = lab.signal(), &other = lab.signal(1);
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.signal(done, 1).submit());
       must(lab.gpu().sdma().wait(mended ? done : other, 1).copy(lab.y(), lab.z()).submit());
     }},
    {"HostReadsBeforeTheKernelHasEnded",
     {ReadAfterWrite, WriteAfterRead},
     {"kernel saxpy", "host, Device::read"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.signal(done, 1).submit());
       if (mended) must(done.wait(1));
       EXPECT_TRUE(lab.gpu().read<float>(lab.y()));
     }},
    {"HostOverwritesAnInputInFlight",
     {WriteAfterRead, ReadAfterWrite},
     {"kernel saxpy", "host, Device::write"},
     "x",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.signal(done, 1).submit());
       if (mended) must(done.wait(1));
       must(lab.gpu().write(lab.x(), std::vector<float>(kCount, 1.0f)));
     }},
    {"HostFillsAfterTheDoorbell",
     {ReadAfterWrite, WriteAfterRead},
     {"COPY_LINEAR", "host, Device::write"},
     "z",
     [](Lab& lab, bool mended) {
       const std::vector<float> ones(kCount, 1.0f);
       if (mended) must(lab.gpu().write(lab.z(), ones));
       must(lab.gpu().sdma().copy(lab.z(), lab.x()).submit());
       if (!mended) must(lab.gpu().write(lab.z(), ones));
     }},
    {"DispatchesOfOneQueueWithoutABarrier",
     {ReadAfterWrite, WriteAfterRead},
     {"DISPATCH_DIRECT", "kernel saxpy"},
     "y",
     [](Lab& lab, bool mended) {
       Queue& queue = *lab.gpu().default_queue(QueueKind::Pm4).value();
       BareCommands compute(queue);
       lab.saxpy(compute, lab.x(), lab.y());
       lab.saxpy(compute, lab.y(), lab.z());
       Submission submission = compute.take();
       if (!mended) remove_packets(submission, "EVENT_WRITE");
       must(queue.submit(std::move(submission)));
     }},
    {"CopyIntoACopyAcrossGpus",
     {ReadAfterWrite, WriteAfterRead},
     {"gpu 0), COPY_LINEAR", "gpu 1), COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       must(lab.gpu(0).sdma().copy(lab.x(), lab.y()).signal(done, 1).submit());
       SdmaCommands second = lab.gpu(1).sdma();
       if (mended) second.wait(done, 1);
       must(second.copy(lab.y(), lab.z()).submit());
     },
     2},
    {"KernelsOfTwoGpusOnOneBuffer",
     {WriteAfterWrite, ReadAfterWrite, WriteAfterRead},
     {"gpu 0)", "gpu 1)", "kernel saxpy"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands first = lab.gpu(0).compute();
       lab.saxpy(first, lab.x(), lab.y());
       must(first.signal(done, 1).submit());
       ComputeCommands second = lab.gpu(1).compute();
       if (mended) second.wait(done, 1).memory_barrier();
       lab.saxpy(second, lab.x(), lab.y(), 1);
       must(second.submit());
     },
     2},
    {"AqlKernelThenCopyWithoutAWait",
     {ReadAfterWrite, WriteAfterRead},
     {"(aql, gpu 0), KERNEL_DISPATCH", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands aql = lab.gpu().aql();
       lab.saxpy(aql, lab.x(), lab.y());
       must(aql.signal(done, 1).submit());
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) sdma.wait(done, 1);
       must(sdma.copy(lab.y(), lab.z()).submit());
     }},
    {"AqlAndPm4KernelsOnOneBuffer",
     {WriteAfterWrite, ReadAfterWrite, WriteAfterRead},
     {"(aql, gpu 0)", "(pm4, gpu 0)"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       ComputeCommands aql = lab.gpu().aql();
       lab.saxpy(aql, lab.x(), lab.y());
       must(aql.signal(done, 1).submit());
       ComputeCommands pm4 = lab.gpu().compute();
       if (mended) pm4.wait(done, 1).memory_barrier();
       lab.saxpy(pm4, lab.x(), lab.y());
       must(pm4.submit());
     }},
    {"OverlapOfFourBytes",
     {WriteAfterWrite},
     {"(sdma, gpu 0), COPY_LINEAR"},
     "z",
     [](Lab& lab, bool mended) {
       const auto first = lab.queue(QueueKind::Sdma), second = lab.queue(QueueKind::Sdma);
       const auto half = [](const Allocation& memory, uint64_t offset, uint64_t bytes) {
         return memory.slice(offset, bytes).value();
       };
       const uint64_t bytes = kBytes / 2 + (mended ? 0 : 4);
       must(SdmaCommands(*first).copy(half(lab.x(), 0, bytes), half(lab.z(), 0, bytes)).submit());
       must(SdmaCommands(*second)
                .copy(half(lab.y(), 0, kBytes / 2), half(lab.z(), kBytes / 2, kBytes / 2))
                .submit());
       must(first->synchronize());
       must(second->synchronize());
     }},
    {"TimestampReadBeforeItIsStored",
     {ReadAfterWrite, WriteAfterRead},
     {"host, Signal timestamp", "TIMESTAMP"},
     "signals",
     [](Lab& lab, bool mended) {
       const Signal &stamped = lab.signal(), &done = lab.signal();
       lab.gpu().set_name({.gpu_address = stamped.ref().address}, "signals");
       must(lab.gpu().sdma().timestamp(stamped, Timestamp::Start).signal(done, 1).submit());
       if (mended) must(done.wait(1));
       (void)stamped.start_ticks();
     }},
};

DOPPEL_DEFECTS(Hazards, kHazards);

}  // namespace
}  // namespace doppel::verify::test
