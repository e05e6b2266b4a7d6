// Pm4Executor: a graph on PM4 compute queues and SDMA queues. Each queue's commands lie in an
// indirect buffer that never changes between launches unless a node does; a launch puts only a
// short frame into each ring:
//
//   hub    wait stage[q] >= 2n-1 for all q, kickoff = n, INDIRECT, wait stage[q] >= 2n for all q,
//          progress[q] = 0 for all q, finish = n
//   other  stage = 2n-1, wait kickoff >= n, INDIRECT, stage = 2n
//
// for launch number n: timeline signals that only grow. Within a launch, queue q counts up
// progress[q] at the steps that other queues wait for; the hub resets these virtual signals when
// all queues are done, so that launches follow one another without the host.
#pragma once

#include <memory>

#include "core/graph/executor.h"

namespace doppel::graph {

Result<std::unique_ptr<Executor>> make_pm4_executor(const Definition& definition, const Plan& plan,
                                                    const GraphOptions& options);

}  // namespace doppel::graph
