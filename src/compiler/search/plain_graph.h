#pragma once
// Plans of graphs with the conversions of mixed precision, from plans of the same graphs without them.

#include "compiler/plan/complete_plan.h"

namespace partita {

/// Whether the graph has roundings, such as those of mixed precision: a `round`, or a `cast` to fewer digits whose
/// users all cast back.
bool has_roundings(const Graph& graph, const OpSet& ops);

/// Returns the graph without roundings and casts back: their users get the value that was rounded. Other nodes, inputs
/// and states keep their names and their order.
Graph without_roundings(const Graph& graph, const OpSet& ops);

/// Returns the bytes of the values that nodes pass to others, per byte of those in the graph without roundings: less
/// than 1 if values have 16 bits. Gradients that an update uses do not count, nor do states.
double share_of_rounded(const Graph& graph, const OpSet& ops);

/// Returns a plan of `graph` from one of `plain`, its graph without roundings. Nodes of both have the same cuts. A
/// rounding is cut as its operand is made, or as a user of the operand needs it if all users of the rounding get theirs
/// from that by gathering. If the operand is a sum of parts that is still to be reduced, the rounding is cut as the
/// next user needs the sum. A cast back is cut as its user needs it, so that values move between ranks in 16 bits and
/// once for all users that need the same.
Plan with_roundings(const Plan& plan, const Graph& plain, const Graph& graph, const Rules& rules);

}  // namespace partita
