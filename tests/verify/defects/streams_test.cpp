// Seeded hazards of what the packets themselves live on (indirect buffers, code), of AQL's barriers
// and completion signals, of several GPUs, and of graphs that are launched again.
#include "core/graph.h"
#include "core/packets/aql.h"
#include "core/packets/pm4.h"
#include "tests/verify/defects/lab.h"

namespace doppel::verify::test {
namespace {

using enum RuleId;

Queue& default_queue(Lab& lab, QueueKind kind, size_t gpu = 0) {
  return *lab.gpu(gpu).default_queue(kind).value();
}

/// y from x through a graph of one kernel; the exec and its program outlive the launches.
struct OneKernelGraph {
  Program program;
  GraphExec exec;

  OneKernelGraph(Lab& lab, GraphExecutor executor)
      : program(lab.load()), exec(make(lab, program, executor)) {}

  static GraphExec make(Lab& lab, const Program& program, GraphExecutor executor) {
    Graph graph;
    graph.kernel(program.kernel("saxpy"), args(lab.x(), lab.y(), 2.0f, kCount), kCount / kGroup,
                 kGroup);
    return graph.instantiate(lab.gpu(), {.executor = executor}).value();
  }
};

void overwritten_during_a_launch(Lab& lab, bool mended, GraphExecutor executor) {
  OneKernelGraph graph(lab, executor);
  GraphLaunch launch = graph.exec.launch();
  must(launch.status());
  if (mended) must(launch.wait());
  must(lab.gpu().write(lab.x(), std::vector<float>(kCount, 1.0f)));
  must(launch.wait());
}

const Defect kStreams[] = {
    {"IndirectBufferOverwrittenInFlight",
     {WriteAfterRead, ReadAfterWrite},
     {"WRITE_UNTILED", "(pm4, gpu 0)"},
     "ib",
     [](Lab& lab, bool mended) {
       const Allocation ib = lab.buffer("ib");
       const Signal& done = lab.signal();
       CommandStream packets(packets::Language::Pm4, GfxFamily::Gfx11);
       Pm4Encoder(packets).memory_barrier();
       std::vector<uint32_t> dwords(packets.dwords().begin(), packets.dwords().end());
       must(lab.gpu().write(ib, dwords));
       Queue& queue = default_queue(lab, QueueKind::Pm4);
       BareCommands commands(queue);
       Submission work = commands.take();
       Pm4Encoder(work.commands).indirect(ib.gpu_address(), static_cast<uint32_t>(dwords.size()));
       Pm4Encoder(work.commands).signal(done.ref(), 1, SignalWidth::Bits64);
       must(queue.submit(std::move(work)));
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) sdma.wait(done, 1);
       // The same packets again: what runs is right in either order.
       must(sdma.write(at(ib, dwords.size() * 4), dwords).submit());
       lab.settle();
     }},
    {"CodeOverwrittenWhileTheKernelMayRun",
     {WriteAfterRead, ReadAfterWrite},
     {"COPY_LINEAR", "kernel saxpy"},
     "code",
     [](Lab& lab, bool mended) {
       const Signal &done = lab.signal(), &saved = lab.signal();
       const MemoryView code{lab.kernel().value().entry_address(), kCodeBytes, nullptr};
       lab.gpu().set_name(code, "code");
       must(lab.gpu().sdma().copy(code, at(lab.z(), kCodeBytes)).signal(saved, 1).submit());
       must(saved.wait(1));
       ComputeCommands compute = lab.gpu().compute();
       lab.saxpy(compute, lab.x(), lab.y());
       must(compute.signal(done, 1).submit());
       SdmaCommands sdma = lab.gpu().sdma();
       if (mended) sdma.wait(done, 1);
       must(sdma.copy(at(lab.z(), kCodeBytes), code).submit());
       lab.settle();
     }},
    {"AqlKernelsWithoutTheBarrierBit",
     {ReadAfterWrite, WriteAfterRead},
     {"(aql, gpu 0), KERNEL_DISPATCH", "kernel saxpy"},
     "y",
     [](Lab& lab, bool mended) {
       Queue& queue = default_queue(lab, QueueKind::Aql);
       BareCommands commands(queue);
       lab.saxpy(commands, lab.x(), lab.y());
       lab.saxpy(commands, lab.y(), lab.z());
       Submission work = commands.take();
       if (!mended) {
         set_in_packets(work, "KERNEL_DISPATCH", aql::KernelDispatch::barrier_field, 0);
       }
       must(queue.submit(std::move(work)));
     }},
    {"CopyAwaitsTheCompletionOfTheFirstKernelOnly",
     {ReadAfterWrite, WriteAfterRead},
     {"(aql, gpu 0), KERNEL_DISPATCH", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal(1);
       Queue& queue = default_queue(lab, QueueKind::Aql);
       BareCommands commands(queue);
       if (mended) lab.saxpy(commands, lab.x(), lab.y());
       lab.saxpy(commands, lab.z(), lab.coarse());
       if (!mended) lab.saxpy(commands, lab.x(), lab.y());
       Submission work = commands.take();
       // Of the second packet, in the mended program; else of the first.
       std::span<uint32_t> packet = packet_named(work, "KERNEL_DISPATCH");
       if (mended) packet = work.commands.dwords().subspan(packet.size(), packet.size());
       aql::KernelDispatch::completion_signal_field.in(GfxFamily::Gfx11)
           .deposit(packet.data(), done.ref().address);
       must(queue.submit(std::move(work)));
       const Allocation out = lab.buffer("out");
       SdmaCommands sdma = lab.gpu().sdma();
       must(sdma.wait(done, 0, SignalCondition::Equal).copy(lab.y(), out).submit());
       lab.settle();
     }},
    {"TwoCopyQueuesInAChain",
     {ReadAfterWrite, WriteAfterRead},
     {"COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       const auto other = lab.queue(QueueKind::Sdma);
       must(lab.gpu().sdma().copy(lab.x(), lab.y()).signal(done, 1).submit());
       SdmaCommands second(*other);
       if (mended) second.wait(done, 1);
       must(second.copy(lab.y(), lab.z()).submit());
       must(other->synchronize());
     }},
    {"RingOfThreeGpusWithOneWaitMissing",
     {ReadAfterWrite, WriteAfterRead},
     {"gpu 1), COPY_LINEAR", "gpu 2), COPY_LINEAR"},
     "z",
     [](Lab& lab, bool mended) {
       const Signal &first = lab.signal(), &second = lab.signal();
       must(lab.gpu(0).sdma().copy(lab.x(), lab.y()).signal(first, 1).submit());
       must(lab.gpu(1).sdma().wait(first, 1).copy(lab.y(), lab.z()).signal(second, 1).submit());
       SdmaCommands third = lab.gpu(2).sdma();
       third.wait(mended ? second : first, 1);
       must(third.copy(lab.z(), lab.x()).submit());
     },
     3},
    {"HostReadsWhatAnotherGpuStillWrites",
     {ReadAfterWrite, WriteAfterRead},
     {"gpu 1), COPY_LINEAR", "host, Device::read"},
     "y",
     [](Lab& lab, bool mended) {
       const Signal &one = lab.signal(), &other = lab.signal();
       must(lab.gpu(0).sdma().copy(lab.x(), lab.z()).signal(one, 1).submit());
       must(lab.gpu(1).sdma().copy(lab.x(), lab.y()).signal(other, 1).submit());
       must((mended ? other : one).wait(1));
       EXPECT_TRUE(lab.gpu().read<float>(lab.y()));
     },
     2},
    {"GraphInputOverwrittenDuringALaunch",
     {WriteAfterRead, ReadAfterWrite},
     {"kernel saxpy", "host, Device::write"},
     "x",
     [](Lab& lab, bool mended) {
       overwritten_during_a_launch(lab, mended, GraphExecutor::Pm4Sdma);
     }},
    {"AqlGraphInputOverwrittenDuringALaunch",
     {WriteAfterRead, ReadAfterWrite},
     {"kernel saxpy", "host, Device::write"},
     "x",
     [](Lab& lab, bool mended) { overwritten_during_a_launch(lab, mended, GraphExecutor::Aql); }},
    {"CopyOfAGraphsResultThatAwaitsTheLaunchBefore",
     {ReadAfterWrite, WriteAfterRead},
     {"kernel saxpy", "COPY_LINEAR"},
     "y",
     [](Lab& lab, bool mended) {
       OneKernelGraph graph(lab, GraphExecutor::Pm4Sdma);
       const Signal& launches = lab.signal();
       must(graph.exec.launch({.signal = &launches, .signal_value = 1}).status());
       GraphLaunch last = graph.exec.launch({.signal = &launches, .signal_value = 2});
       must(last.status());
       must(lab.gpu().sdma().wait(launches, mended ? 2 : 1).copy(lab.y(), lab.z()).submit());
       must(last.wait());
       lab.settle();
     }},
};

DOPPEL_DEFECTS(Streams, kStreams);

}  // namespace
}  // namespace doppel::verify::test
