#pragma once
// Graph + mesh + options -> Plan.

#include "plan/plan.h"

namespace partita {

struct PlanOptions {
  /// none: every rank computes everything. data: the batch is cut, evenly, and parameters that are marked
  /// layerwise are split. hybrid: the same with batches that may be uneven. semi: marks are binding, other nodes cut
  /// the batch. auto: marks are binding, other nodes as `search` finds.
  std::string parallel = "none";
  std::string search = "propagation";
  /// How inputs lie under semi and auto: data_parallel (their batch is cut by all ranks), full_batch (every rank holds
  /// all of them), or a strategy with one entry for each input that has a batch: "((2, 4), (8))".
  std::string dataset = "data_parallel";
  /// False: a dimension that does not divide into its parts is refused.
  bool uneven = true;
};

std::vector<std::string> parallel_modes();
std::vector<std::string> searches();

/// The ranks as the first named layout among the marks arranges them, or as one axis when there is none. Throws
/// InvalidArgument when the layout has another number of ranks.
Mesh make_mesh(const Graph& graph, int64_t ranks, const PlanOptions& options);

/// What to tell the user of a graph whose marks the mode does not look at; "" when there is nothing.
std::string ignored_marks(const Graph& graph, const Mesh& mesh, const PlanOptions& options);

/// Throws InvalidArgument when the graph does not fit the mesh, naming the nearest legal choice.
Plan make_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);

}  // namespace partita
