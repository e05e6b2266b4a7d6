// Whether new buffers of a replayed graph need an order that the graph was not recorded with. The
// edges of a graph come from the buffers it was recorded with; bindings that alias where the first
// ones did not would race.
#pragma once

#include <span>
#include <vector>

#include "core/graph/definition.h"
#include "core/graph/plan.h"
#include "core/status.h"

namespace doppel::graph {

/// InvalidArgument, naming both nodes and their common bytes, if the accesses of the `changed`
/// nodes imply a dependency on or of any node that `plan` does not have. Costs
/// O(n log c + m log m) for n accesses in all, c of the changed nodes, and m that touch their
/// bytes.
Result<> check_bindings(const Definition& definition, const Plan& plan,
                        std::span<const NodeId> changed);

}  // namespace doppel::graph
