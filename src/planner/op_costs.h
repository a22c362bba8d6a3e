#pragma once
// Costs of the alternative cuts of an op of a plan, for one micro-batch.

#include "ir/graph/rules.h"
#include "planner/explain/alternatives.h"
#include "planner/network_planner.h"

namespace partita {

class OpCosts {
 public:
  /// `planner` is the planner of the plan. It and the plan must outlive this object. Throws InvalidArgument if the plan
  /// is for the file of a graph, or if its cuts do not fit the network.
  OpCosts(const PlanFile& plan, NetworkPlanner& planner);

  /// Index of the training node that stands for the first forward node that matches a name or a pattern. Copies of a
  /// repeated layer share one node. Throws InvalidArgument with the nearest name if none matches.
  size_t node_named(const std::string& name) const;
  /// Indices of the `count` forward nodes with the most FLOPs over all copies of their layer, largest first. A repeated
  /// layer contributes the nodes of one copy.
  std::vector<size_t> largest(size_t count) const;
  std::string name(size_t node) const { return names_.at(node); }
  /// Name of the first node of the whole network that matches a name or a pattern. Throws InvalidArgument with the
  /// nearest name if none matches.
  std::string whole_name(const std::string& name) const { return whole_names_.at(place_of(name)); }
  /// One line that describes the op, the micro-batch and the ranks that the alternatives are for.
  std::string title(size_t node) const;
  /// The cuts of a node, cheapest first; empty if one rank runs everything. With `free`, each may cut the other nodes
  /// anew. The first `most` say why they cost more or less than the chosen one.
  std::vector<CutAlternative> alternatives(size_t node, bool free, size_t most) const;

 private:
  /// Index among the nodes of the whole forward graph of the first that matches. Throws InvalidArgument if none does.
  size_t place_of(const std::string& name) const;

  const PlanFile& plan_;
  const NetworkPlanner& planner_;
  const int64_t rounds_;  // micro-batches
  FoldedGraph folded_;
  std::vector<std::string> whole_names_, names_;  // names in the whole forward graph, and in `training_`
  Graph training_;
  NamedCuts cuts_;
  PartialPlan partial_;
};

}  // namespace partita
