#pragma once
// Collectives of a local graph as StableHLO, for programs that all ranks of a stage run: rank r is replica r.

#include <optional>
#include <string>

#include "compiler/partition/local_graph.h"
#include "ir/graph/hlo.h"

namespace partita {

/// Says why the ranks of a stage cannot run one program with all of its collectives: one that no operation of StableHLO
/// performs. None: they can.
std::optional<std::string> refusal_of_whole(const LocalGraph& local);
/// Checks that the ranks can run one program. Throws InvalidArgument with the reason of `refusal_of_whole` otherwise.
void require_whole(const LocalGraph& local);

/// Whether a node communicates, or slices, in a program: it is a collective, but none that joins or cuts micro-batches.
bool is_emitted_collective(const Node& node, const Mesh& mesh);

/// Writes a collective for which `is_emitted_collective` holds, of a graph that `refusal_of_whole` accepts. `result` is
/// the type of its result in the program of all ranks. Operands may have padding (compiler/emit/uneven_shards.h).
Hlo emit_collective(HloBody& body, const LocalGraph& local, NodeId id, const Hlo& operand, const Type& result);

/// Writes the all_reduces of a bucket (schedule/schedule.h): nodes of one reduction, over the same groups. Those whose
/// parts travel in another type share their messages; the compiler may join the others.
std::vector<Hlo> emit_all_reduces(HloBody& body, const LocalGraph& local, const std::vector<NodeId>& ids,
                                  const std::vector<Hlo>& operands);

/// Writes whether a scalar flag holds on all ranks of a stage.
Hlo emit_on_all_ranks(HloBody& body, const Mesh& mesh, const Hlo& flag);

/// Returns the scalar of an integer type that has `values[r]` on rank r.
Hlo emit_by_rank(HloBody& body, const std::vector<int64_t>& values, DType dtype = DType::i32);

}  // namespace partita
