// AqlExecutor: a graph on AQL queues (kernels) and SDMA queues (transfers), with HSA signals
// between them: each is 1 before a launch and 0 when what it stands for is complete. The AQL
// packets form a virtual queue that is built once; a launch sets the signals back, then copies the
// packets to the hardware queue. For each queue:
//
//   hub    barrier-AND(arrived of all others; completes kickoff), nodes,
//          barrier-AND(done of all others; completes finish)
//   other  barrier-AND(; completes arrived), barrier-AND(kickoff), nodes, barrier-AND(; completes
//          done)
//
// with at most five signals a barrier packet. SDMA queues do the same with POLL_REGMEM and FENCE;
// their nodes lie in an indirect buffer. As the signals are set back by the host, a launch waits
// for the one before.
#pragma once

#include <memory>

#include "core/graph/executor.h"

namespace doppel::graph {

Result<std::unique_ptr<Executor>> make_aql_executor(const Definition& definition, const Plan& plan,
                                                    const GraphOptions& options);

}  // namespace doppel::graph
