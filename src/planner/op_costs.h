#pragma once
// Costs of the alternative cuts of an op of a plan, for one micro-batch.

#include "ir/graph/rules.h"
#include "planner/explain/alternatives.h"
#include "planner/network_planner.h"

namespace partita {

class OpCosts {
 public:
  /// Builds the training of the network for the plan's micro-batch, with the cuts of the plan or, if it has none, those
  /// of its configuration. `planner` is the planner of the plan. It and the plan must outlive this object. Throws
  /// InvalidArgument if the plan is for the file of a graph, if its policy recomputes nothing, and for a line of its
  /// cuts that is malformed, names an axis that the mesh lacks, or cuts what another line cuts. For a plan without
  /// cuts, also throws InvalidArgument if its configuration cannot be priced, and MissingFile, InvalidFile and
  /// RuntimeFailure as `plan_file_of` of planner.h does.
  OpCosts(const PlanFile& plan, NetworkPlanner& planner);

  /// Returns the index of the training node that stands for the first forward node that matches a name or a pattern.
  /// Copies of a repeated layer other than the first and the last share one node. Throws InvalidArgument with the
  /// nearest name if none matches.
  size_t node_named(const std::string& name) const;
  /// Returns the indices of the `count` forward nodes with the most FLOPs, largest first; fewer if there are fewer. A
  /// node of a repeated layer stands for all copies but the first and the last: its FLOPs are those of all of these,
  /// and those two copies do not contribute nodes.
  std::vector<size_t> largest(size_t count) const;
  std::string name(size_t node) const { return names_.at(node); }
  /// Returns the name of the first node of the whole forward graph that matches a name or a pattern. Throws
  /// InvalidArgument with the nearest name if none matches.
  std::string whole_name(const std::string& name) const { return whole_names_.at(place_of(name)); }
  /// One line that names the rule of the op, the network, and the micro-batches and ranks that the alternatives are
  /// for.
  std::string title(size_t node) const;
  /// Returns the cuts of a forward node, given by its index, cheapest first; empty if one rank runs everything. With
  /// `free`, each may cut the other nodes anew. The first `most`, except the chosen one, say why they cost more or less
  /// than the chosen one. Throws InvalidArgument if the cluster has fewer ranks than the mesh.
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
