// Seeded coherence defects: everything is ordered, and a cache may still answer with old bytes.
#include "core/packets/aql.h"
#include "core/packets/pm4.h"
#include "core/packets/sdma.h"
#include "tests/verify/defects/lab.h"

namespace doppel::verify::test {
namespace {

using enum RuleId;
using Acquire = pm4::AcquireMem;
using Release = pm4::ReleaseMem;
using Dispatch = aql::KernelDispatch;
using aql::FenceScope;

/// A saxpy of `x` into `y`, and the signal behind it; not submitted.
Submission saxpy_with_signal(Lab& lab, Queue& queue, const Allocation& x, const Allocation& y,
                             const Signal& done, uint64_t value, size_t gpu = 0) {
  BareCommands commands(queue);
  lab.saxpy(commands, x, y, gpu);
  commands.signal(done, value);
  return commands.take();
}

/// The same after a wait for an earlier value of the signal and a barrier.
Submission saxpy_after(Lab& lab, Queue& queue, const Allocation& x, const Allocation& y,
                       const Signal& done, uint64_t value, size_t gpu = 0) {
  BareCommands commands(queue);
  commands.wait(done, value).memory_barrier();
  lab.saxpy(commands, x, y, gpu);
  commands.signal(done, value + 1);
  return commands.take();
}

Queue& pm4(Lab& lab, size_t gpu = 0) {
  return *lab.gpu(gpu).default_queue(QueueKind::Pm4).value();
}
Queue& aql(Lab& lab, size_t gpu = 0) {
  return *lab.gpu(gpu).default_queue(QueueKind::Aql).value();
}

/// Packets that end the queue's work without a cache operation.
void drop_releases(Submission& submission) {
  for (const auto& field : {Release::gcr_glv_inv_field, Release::gcr_gl1_inv_field,
                            Release::gcr_gl2_inv_field, Release::gcr_gl2_wb_field}) {
    set_in_packets(submission, "RELEASE_MEM", field, 0);
  }
}

void set_scopes(Submission& submission, FenceScope acquire, FenceScope release) {
  set_in_packets(submission, kAnyPacket, Dispatch::acquire_scope_field,
                 static_cast<uint64_t>(acquire));
  set_in_packets(submission, kAnyPacket, Dispatch::release_scope_field,
                 static_cast<uint64_t>(release));
}

/// The host reads what the submission has written, after a wait.
void read_by_host(Lab& lab, Submission submission, Queue& queue, const Allocation& y,
                  const Signal& done) {
  must(queue.submit(std::move(submission)));
  must(done.wait(1));
  EXPECT_TRUE(lab.gpu().read<float>(y));
}

/// A copy from z to x between the two signals that leaves the kernels' caches alone.
void copy_past_the_caches(Lab& lab, const Signal& after, const Signal& done) {
  Queue& queue = *lab.gpu().default_queue(QueueKind::Sdma).value();
  Bare<SdmaCommands> commands(queue);
  commands.wait(after, 1).copy(lab.z(), lab.x()).signal(done, 1);
  Submission copy = commands.take();
  for (const auto& field : {sdma::GcrReq::gcr_glv_inv_field, sdma::GcrReq::gcr_gl1_inv_field}) {
    set_in_packets(copy, "GCR_REQ", field, 0);
  }
  must(queue.submit(std::move(copy)));
}

/// A kernel reads x, SDMA overwrites it, a kernel reads it again; all in order. `edit` spoils the
/// last submission; no release empties a cache.
void overwritten_between_kernels(Lab& lab, bool mended, void (*edit)(Submission& second)) {
  const Signal &first = lab.signal(), &copied = lab.signal();
  Submission once = saxpy_with_signal(lab, pm4(lab), lab.x(), lab.y(), first, 1);
  drop_releases(once);
  must(pm4(lab).submit(std::move(once)));
  copy_past_the_caches(lab, first, copied);
  Submission again = saxpy_after(lab, pm4(lab), lab.x(), lab.coarse(), copied, 1);
  if (!mended) edit(again);
  must(pm4(lab).submit(std::move(again)));
}

/// A saxpy whose packet has these scopes and takes 1 from `done` when it completes.
Submission aql_saxpy(Lab& lab, const Allocation& x, const Allocation& y, const Signal& done,
                     FenceScope acquire, FenceScope release) {
  BareCommands commands(aql(lab));
  lab.saxpy(commands, x, y);
  Submission work = commands.take();
  set_scopes(work, acquire, release);
  set_in_packets(work, "KERNEL_DISPATCH", Dispatch::completion_signal_field, done.ref().address);
  return work;
}

/// The host reads what the packet with that release scope has written.
void read_after_aql_kernel(Lab& lab, FenceScope release) {
  const Signal& done = lab.signal(1);
  must(aql(lab).submit(aql_saxpy(lab, lab.x(), lab.coarse(), done, FenceScope::SYSTEM, release)));
  must(done.wait(0, {.condition = SignalCondition::Equal}));
  EXPECT_TRUE(lab.gpu().read<float>(lab.coarse()));
}

/// Two kernels of one queue read x; between them `overwrite` changes it, and then sets `copied`.
/// All packets have that acquire scope.
void overwritten_between_aql_kernels(Lab& lab, const Allocation& x, FenceScope acquire,
                                     void (*overwrite)(Lab& lab, Signal& copied)) {
  Signal &first = lab.signal(1), &copied = lab.signal();
  BareCommands commands(aql(lab));
  lab.saxpy(commands, x, lab.y());
  commands.wait(copied, 1);
  lab.saxpy(commands, x, lab.z());
  Submission work = commands.take();
  set_scopes(work, acquire, FenceScope::SYSTEM);
  Dispatch::completion_signal_field.in(GfxFamily::Gfx11)
      .deposit(packet_named(work, "KERNEL_DISPATCH").data(), first.ref().address);
  must(aql(lab).submit(std::move(work)));
  must(first.wait(0, {.condition = SignalCondition::Equal}));
  overwrite(lab, copied);
}

const Defect kCoherence[] = {
    {"NoCacheOperationAnywhere",
     {MissingInvalidation},
     {"COPY_LINEAR", "kernel saxpy"},
     "x",
     [](Lab& lab, bool mended) {
       overwritten_between_kernels(lab, mended,
                                   [](Submission& again) { remove_packets(again, "ACQUIRE_MEM"); });
     }},
    {"AcquireWithoutGl0",
     {MissingInvalidation},
     {"COPY_LINEAR", "kernel saxpy"},
     "x",
     [](Lab& lab, bool mended) {
       overwritten_between_kernels(lab, mended, [](Submission& again) {
         set_in_packets(again, "ACQUIRE_MEM", Acquire::gcr_glv_inv_field, 0);
       });
     }},
    {"AcquireWithoutGl1",
     {MissingInvalidation},
     {"COPY_LINEAR", "kernel saxpy"},
     "x",
     [](Lab& lab, bool mended) {
       overwritten_between_kernels(lab, mended, [](Submission& again) {
         set_in_packets(again, "ACQUIRE_MEM", Acquire::gcr_gl1_inv_field, 0);
       });
     }},
    {"CodeOverwrittenWithoutAnInstructionCacheInvalidation",
     {MissingInvalidation},
     {"COPY_LINEAR", "kernel saxpy"},
     "code",
     [](Lab& lab, bool mended) {
       const Signal &first = lab.signal(), &copied = lab.signal();
       const MemoryView code{lab.kernel().value().entry_address(), kCodeBytes, nullptr};
       lab.gpu().set_name(code, "code");
       ComputeCommands once = lab.gpu().compute();
       lab.saxpy(once, lab.x(), lab.y());
       must(once.signal(first, 1).submit());
       SdmaCommands sdma = lab.gpu().sdma();
       sdma.wait(first, 1).copy(code, at(lab.z(), kCodeBytes));
       must(sdma.copy(at(lab.z(), kCodeBytes), code).signal(copied, 1).submit());
       Submission again = saxpy_after(lab, pm4(lab), lab.x(), lab.coarse(), copied, 1);
       if (!mended) set_in_packets(again, "ACQUIRE_MEM", Acquire::gcr_gli_inv_field, 0);
       must(pm4(lab).submit(std::move(again)));
     }},
    {"ReleaseWithoutAWriteBackForTheHost",
     {MissingWriteBack},
     {"kernel saxpy", "host, Device::read"},
     "coarse",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       const Allocation& y = lab.coarse();
       Submission work = saxpy_with_signal(lab, pm4(lab), lab.x(), y, done, 1);
       if (!mended) set_in_packets(work, "RELEASE_MEM", Release::gcr_gl2_wb_field, 0);
       read_by_host(lab, std::move(work), pm4(lab), y, done);
     }},
    {"ReleaseWithoutAWriteBackForAnotherGpusKernel",
     {MissingWriteBack},
     {"kernel saxpy", "gpu 0)", "gpu 1)"},
     "coarse",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       const Allocation& y = lab.coarse();
       Submission work = saxpy_with_signal(lab, pm4(lab), lab.x(), y, done, 1);
       if (!mended) set_in_packets(work, "RELEASE_MEM", Release::gcr_gl2_wb_field, 0);
       must(pm4(lab).submit(std::move(work)));
       must(pm4(lab, 1).submit(saxpy_after(lab, pm4(lab, 1), y, lab.z(), done, 1, 1)));
     },
     2},
    {"ReleaseWithoutAWriteBackForAnotherGpusCopy",
     {MissingWriteBack},
     {"kernel saxpy", "gpu 1), COPY_LINEAR"},
     "coarse",
     [](Lab& lab, bool mended) {
       const Signal& done = lab.signal();
       const Allocation& y = lab.coarse();
       Submission work = saxpy_with_signal(lab, pm4(lab), lab.x(), y, done, 1);
       if (!mended) set_in_packets(work, "RELEASE_MEM", Release::gcr_gl2_wb_field, 0);
       must(pm4(lab).submit(std::move(work)));
       must(lab.gpu(1).sdma().wait(done, 1).copy(y, lab.z()).submit());
     },
     2},
    {"OtherGpusL2KeepsTheFirstRound",
     {MissingInvalidation},
     {"gpu 0)", "gpu 1)", "kernel saxpy"},
     "coarse",
     [](Lab& lab, bool mended) {
       const Signal& turn = lab.signal();
       const Allocation& y = lab.coarse();
       Submission first = saxpy_with_signal(lab, pm4(lab, 1), y, lab.z(), turn, 1, 1);
       drop_releases(first);
       must(pm4(lab, 1).submit(std::move(first)));
       must(pm4(lab).submit(saxpy_after(lab, pm4(lab), lab.x(), y, turn, 1)));
       Submission again = saxpy_after(lab, pm4(lab, 1), y, lab.z(), turn, 2, 1);
       if (!mended) set_in_packets(again, "ACQUIRE_MEM", Acquire::gcr_gl2_inv_field, 0);
       must(pm4(lab, 1).submit(std::move(again)));
     },
     2},
    {"AqlReleaseOfNoScopeBeforeTheHostReads",
     {MissingWriteBack, SuspiciousPacket},
     {"(aql, gpu 0), KERNEL_DISPATCH", "host, Device::read"},
     "coarse",
     [](Lab& lab, bool mended) {
       read_after_aql_kernel(lab, mended ? FenceScope::SYSTEM : FenceScope::NONE);
     }},
    {"AqlReleaseOfAgentScopeBeforeTheHostReads",
     {MissingWriteBack},
     {"(aql, gpu 0), KERNEL_DISPATCH", "host, Device::read"},
     "coarse",
     [](Lab& lab, bool mended) {
       read_after_aql_kernel(lab, mended ? FenceScope::SYSTEM : FenceScope::AGENT);
     }},
    {"AqlAcquireOfNoScopeAfterACopy",
     {MissingInvalidation},
     {"COPY_LINEAR", "(aql, gpu 0), KERNEL_DISPATCH"},
     "x",
     [](Lab& lab, bool mended) {
       const FenceScope acquire = mended ? FenceScope::AGENT : FenceScope::NONE;
       overwritten_between_aql_kernels(lab, lab.x(), acquire, [](Lab& l, Signal& copied) {
         copy_past_the_caches(l, l.signal(1), copied);
       });
     }},
    {"AqlAcquireOfAgentScopeAfterTheHostWrote",
     {MissingInvalidation},
     {"host, Device::write", "(aql, gpu 0), KERNEL_DISPATCH"},
     "coarse",
     [](Lab& lab, bool mended) {
       const FenceScope acquire = mended ? FenceScope::SYSTEM : FenceScope::AGENT;
       overwritten_between_aql_kernels(lab, lab.coarse(), acquire, [](Lab& l, Signal& copied) {
         must(l.gpu().write(l.coarse(), std::vector<float>(kCount, 1.0f)));
         copied.set(1);
       });
     }},
    {"AqlKernelsOfOneQueueWithoutAnAcquire",
     {MissingInvalidation},
     {"(aql, gpu 0), KERNEL_DISPATCH", "kernel saxpy"},
     "y",
     [](Lab& lab, bool mended) {
       BareCommands commands(aql(lab));
       lab.saxpy(commands, lab.x(), lab.y());
       lab.saxpy(commands, lab.y(), lab.z());
       lab.saxpy(commands, lab.z(), lab.y());
       lab.saxpy(commands, lab.y(), lab.z());
       Submission work = commands.take();
       if (!mended) set_scopes(work, FenceScope::NONE, FenceScope::SYSTEM);
       must(aql(lab).submit(std::move(work)));
     }},
};

DOPPEL_DEFECTS(Coherence, kCoherence);

}  // namespace
}  // namespace doppel::verify::test
