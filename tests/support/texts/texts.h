#pragma once
// Reads the artefacts of the compiler back from their texts. Programs only write these; tests and fuzz targets read
// them, to compare what was read with what was written, and to run plans and schedules written by hand.

#include <string_view>
#include <vector>

#include "compiler/partition/local_graph.h"
#include "compiler/partition/resharded_graph.h"
#include "compiler/plan/plan.h"
#include "compiler/schedule/schedule.h"
#include "ir/orders/sequence.h"

namespace partita {

/// Reads the text of a type with its sharding, such as "f32[64{dp},128]", and ignores the element type. Throws
/// InvalidArgument for other texts, unknown axes, sizes that are not those of `type`, an axis that is used twice, and
/// more parts than elements.
Sharding parse_sharding(std::string_view text, const Type& type, const Mesh& mesh);

/// Reads a plan for `graph`. Nodes, inputs and states that are not named are not cut. Throws InvalidArgument for other
/// texts, with the line, and for a plan that `verify` refuses.
Plan parse_plan(std::string_view text, const Graph& graph, const OpSet& ops);

/// Returns `ops` and the ops of all collectives, each with one operand and a result of the same type. A local graph
/// uses both.
OpSet with_collectives(const OpSet& ops);
/// Read the texts that `print` writes. Throw InvalidArgument for other texts and for a graph that `verify` refuses.
ReshardedGraph parse_resharded_graph(std::string_view text, const OpSet& ops);
LocalGraph parse_local_graph(std::string_view text, const OpSet& ops);

/// Reads what `print` writes, for the same local graph, and verifies it, except for what the `verify` with a catalog
/// checks. Throws InvalidArgument for other texts, with the line if a single one is at fault, and for a schedule that
/// the `verify` without a catalog refuses.
Schedule parse_schedule(std::string_view text, const LocalGraph& local);
/// Checks a schedule that was read from a text against the device of the catalog. Kernels are checked only when they
/// are created. Throws InvalidArgument if the device lacks the memory format of a buffer or gives it another size.
void verify(const Schedule& schedule, const LocalGraph& local, const KernelCatalog& catalog);

/// Parses a sequence (ir/orders/text.h). It is checked (check.h) and returned in a topological order, sorted by
/// estimated start. Throws InvalidArgument for other texts, a sequence that cannot run (a slot missing or twice, in a
/// wrong order, or groups that wait for each other), a bad shape and bad dependencies.
Sequence parse_sequence(std::string_view text, const PipelineShape& shape, const std::vector<Dependency>& dependencies);

}  // namespace partita
