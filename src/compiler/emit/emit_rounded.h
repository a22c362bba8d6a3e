#pragma once
// Sums over ranks whose parts travel in 16 bits. StableHLO has no reduction that sends another type than it adds, so
// parts are moved and each rank adds those that it received.

#include <vector>

#include "compiler/emit/replica_groups.h"
#include "ir/graph/hlo.h"

namespace partita {

/// Writes the sum of each operand over the ranks of a group, all of them in the same messages. Each rank rounds its
/// part once to `wire`, parts are added in the type of the operands in the order of the group, and the sum is rounded
/// once, as in cut mode. For n ranks, 2 (n - 1) / n times the bytes of the rounded operands leave each rank: two ranks
/// exchange their parts, more of them first exchange pieces, then gather the sums. Above 64 ranks the compiler chooses
/// the order of the additions.
std::vector<Hlo> emit_rounded_all_reduce(HloBody& body, const ReplicaGroups& groups, DType wire,
                                         const std::vector<Hlo>& operands);

/// Writes the reduce_scatter along `dim` with the same roundings. `result` is the type of a rank's piece.
Hlo emit_rounded_reduce_scatter(HloBody& body, const ReplicaGroups& groups, DType wire, const Hlo& operand, int64_t dim,
                                const Type& result);

}  // namespace partita
