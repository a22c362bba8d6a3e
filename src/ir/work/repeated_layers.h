#pragma once
// Layers of a forward graph that are alike, and the graph with few of them: what one of them costs, the others do, too.

#include "ir/graph/rules.h"

namespace partita {

/// `copies` layers of `period` nodes each, one behind the other from node `begin` on. Node i of a copy is like node i
/// of the next: the same op, types, rule, annotation and marks, with operands from the same place of the copies, or
/// from one place outside of them.
struct RepeatedLayers {
  size_t begin = 0, period = 0, copies = 0;
  size_t end() const { return begin + period * copies; }
  bool operator==(const RepeatedLayers&) const = default;
};

/// Runs of more than `least` copies, in the order of the graph, that do not overlap: those that fold away the most
/// nodes first. Found by the distances between nodes that are alike, never by names.
std::vector<RepeatedLayers> repeated_layers(const Graph& forward, const Rules& rules, size_t least);

/// Nodes of the folded graph, contiguous, that stand for `count` times as many of the whole.
struct FoldedUnit {
  size_t begin = 0, end = 0;  // nodes of the folded graph
  size_t whole_begin = 0;     // the first node of the whole graph that it stands for; copies follow one another
  size_t count = 1;
  bool is_copy = false;  // of a layer that stands there several times
};

struct FoldedGraph {
  Graph graph;
  std::vector<FoldedUnit> units;  // all nodes, in their order
};

/// A forward graph with the first, a middle and the last copy of all repeated layers: three of each, of which the
/// middle one stands for all between the others. Values that copies give one another lie in the middle as they do in
/// the whole. Without repeated layers the graph itself, as one unit.
FoldedGraph fold_layers(const Graph& forward, const Rules& rules);

/// The graph itself in units of one copy each.
FoldedGraph units_of(const Graph& forward, const Rules& rules);

}  // namespace partita
