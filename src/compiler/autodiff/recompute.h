#pragma once
// Memory for time: the backward makes results of the forward again instead of keeping them (Chen et al., 2016).

#include "base/names.h"
#include "ir/graph/op_def.h"

namespace partita {

/// selective: the results of attention, which are made again from its operands. full: of every block of layers (those
/// that stand in a numbered scope, as net/h/3) all but what other layers use.
enum class Recompute { none, selective, full };
template <>
inline constexpr auto kNames<Recompute> = names("none", "selective", "full");

/// The group of nodes with which a policy recomputes a node of the forward; "" for none.
std::string recomputed_group(const Node& node, Recompute policy, const OpSet& ops);

/// Chooses nodes of a forward graph, besides those that are chosen. Throws InvalidArgument when there is nothing to
/// choose.
void choose_recomputed(Graph& forward, Recompute policy, const OpSet& ops);

/// A training graph in which the backward uses copies of the chosen nodes, each in front of its first user. Copies take
/// the same random numbers. What nodes outside of their group use is kept, but for a group of one node, whose results
/// are made again.
Graph recompute_in_backward(Graph training, const OpSet& ops);

}  // namespace partita
