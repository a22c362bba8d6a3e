#pragma once
// A graph with the sharding of every value. The two passes of this folder make one each: the first with reshards as
// nodes, the second with collectives.

#include <functional>

#include "base/names.h"
#include "ir/graph/rules.h"
#include "ir/sharding/sharding.h"

namespace partita {

/// Sections that run separately for each micro-batch. one: a single section, in a program without stages. backward: the
/// forward and the backward pass of a pipeline stage. weights: as `backward`, with gradients of parameters as a third
/// section.
enum class MicroSections { one, backward, weights };
constexpr auto value_names(MicroSections) { return names("one", "backward", "weights"); }

struct ShardedGraph {
  Graph graph;  // types are global
  Mesh mesh;
  std::vector<Sharding> shardings;  // per value
  std::vector<Cut> cuts;            // per node; empty for a node that moves a value
  MicroSections sections = MicroSections::one;

  bool is_stage() const { return sections != MicroSections::one; }
};

/// Text of the graph with its mesh, the shardings in its types and the cuts of its nodes. A node without a cut is
/// followed by `note(node)`. On one rank, without micro-batches, stages and notes, the text equals that of the graph.
std::string print(const ShardedGraph& sharded, const Rules& rules, const std::function<std::string(NodeId)>& note);

/// `verify_cut` throws InternalError unless the shardings of a node's operands and results follow from its cut.
/// `verify_ends` throws InternalError unless every value has a sharding, states keep theirs, outputs are not partial,
/// every halo is read by a node, and micro-batches are equal slices, of which states and outputs hold all.
void verify_cut(const ShardedGraph& sharded, NodeId node, const Rules& rules);
void verify_ends(const ShardedGraph& sharded);

}  // namespace partita
