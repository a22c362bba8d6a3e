#pragma once
// What other cuts of an op of a saved plan would cost, on one of its micro-batches.

#include "ir/graph/rules.h"
#include "planner/explain/alternatives.h"
#include "planner/network_planner.h"

namespace partita {

class OpCosts {
 public:
  /// The planner is that of the plan and outlives this.
  OpCosts(const PlanFile& plan, NetworkPlanner& planner);

  /// The node that stands for the one of this name, or for the first that a pattern names. Throws InvalidArgument with
  /// the nearest.
  size_t node_named(const std::string& name) const;
  /// Forward nodes that compute most, the most first, one of each layer that is repeated.
  std::vector<size_t> largest(size_t count) const;
  std::string name(size_t node) const { return names_.at(node); }
  /// Of the whole network, the first that a pattern names.
  std::string whole_name(const std::string& name) const { return whole_names_.at(place_of(name)); }
  /// What all is about, in a line.
  std::string title(size_t node) const;
  /// None where one rank runs all.
  /// It is said why of the first `most`.
  std::vector<CutAlternative> alternatives(size_t node, bool free, size_t most) const;

 private:
  /// Among the nodes of the whole forward graph.
  size_t place_of(const std::string& name) const;

  const PlanFile& plan_;
  const NetworkPlanner& planner_;
  const int64_t rounds_;  // micro-batches
  FoldedGraph folded_;
  std::vector<std::string> whole_names_, names_;  // of the whole forward graph, of the training of the folded one
  Graph training_;
  NamedCuts cuts_;
  PartialPlan partial_;
};

}  // namespace partita
