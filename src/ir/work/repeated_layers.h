#pragma once
// Finds the layers of a forward graph that repeat, and folds the graph to a few of them: equal layers cost the same.

#include "ir/graph/rules.h"

namespace partita {

/// `copies` consecutive layers of `period` nodes each, from node `begin` on. Node i of a copy equals node i of the
/// next: the same op, types, rule, stage and annotation, both recomputed or both not. Its operands come from the
/// corresponding node of another copy or from the same value outside of them; parameters may differ.
struct RepeatedLayers {
  size_t begin = 0, period = 0, copies = 0;
  size_t end() const { return begin + period * copies; }
  bool operator==(const RepeatedLayers&) const = default;
};

/// Returns the runs of more than `least` copies, in graph order and without overlap; those that fold away the most
/// nodes are chosen first. Of the values of a run, nodes after it and outputs use only those of its last two copies.
/// Runs are found by the distances between equal nodes, never by names.
std::vector<RepeatedLayers> repeated_layers(const Graph& forward, const Rules& rules, size_t least);

/// Consecutive nodes of the folded graph that stand for `count` times as many nodes of the whole graph.
struct FoldedUnit {
  size_t begin = 0, end = 0;  // nodes of the folded graph
  size_t whole_begin = 0;     // first of the nodes of the whole graph it stands for, which are consecutive
  size_t count = 1;
  bool is_copy = false;  // part of a repeated layer
};

/// A graph with repeated layers folded, and how its nodes map to the whole graph.
struct FoldedGraph {
  Graph graph;
  std::vector<FoldedUnit> units;  // all nodes, in order
};

/// Returns the forward graph with three copies of each layer that repeats more often: the first, one that stands for
/// all in between, and the last. Values passed between copies are passed between the kept copies likewise. A graph
/// without such layers is one unit. A graph with custom gradients is not folded: returns `units_of` it.
FoldedGraph fold_layers(const Graph& forward, const Rules& rules);

/// Returns the unfolded graph, with each copy of a layer that repeats more than three times as one unit, and the nodes
/// before, between and after such layers as one unit each.
FoldedGraph units_of(const Graph& forward, const Rules& rules);

}  // namespace partita
