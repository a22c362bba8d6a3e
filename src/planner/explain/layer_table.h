#pragma once
// The costs of groups of layers under a configuration, and how they are cut.

#include "compiler/plan/plan.h"
#include "planner/pricing/search/network_costs.h"

namespace partita {

/// Consecutive layers of one kind. The numbers are those of one layer on one rank.
struct LayerRow {
  std::string name;                            // "net/h/0..95", "net: embedding, add"
  size_t begin = 0, end = 0;                   // range of nodes of the folded graph
  int64_t copies = 1;                          // number of layers
  std::optional<Recompute> recomputed{};       // policy, if not all layers of the kind have the same one
  std::string strategy;                        // "data: batch; tensor: columns, sums"
  double forward = 0, backward = 0;            // kernel seconds of a micro-batch; backward includes recomputation
  std::map<Collective, double> communication;  // seconds of a micro-batch, forward and backward
  double flops = 0;                            // floating-point operations of a micro-batch
  double states = 0;                           // bytes of parameters, gradients, masters and optimizer states
  double kept = 0;                             // bytes that a micro-batch keeps for its backward pass

  std::string title() const;    // the name, and the policy if there is one
  double communicates() const;  // seconds of all communication
  double seconds() const { return forward + backward + communicates(); }
};

/// Returns the rows of all layers in the order of the network. `plan` is a plan of the folded forward graph and says
/// how layers are cut; `stages` says which of them are recomputed. If the configuration counts recomputed layers,
/// layers have a row for each policy that some of their copies have. Throws LoweringErrors.
std::vector<LayerRow> layer_table(NetworkCosts& costs, const Configuration& configuration,
                                  const std::vector<StageLayers>& stages, const Plan& plan, const Rules& rules,
                                  const Precision& precision);

/// Returns the dimensions of first results that each axis of the mesh cuts in the nodes [begin, end), or "sums" for
/// reduced dimensions: "data: batch; tensor: columns, sums"; "whole" if nothing is cut.
std::string strategy_of(const Plan& plan, const Rules& rules, size_t begin, size_t end);

/// Formats the rows as a table, with costs of one layer on one rank in one micro-batch. `batch` is the number of rows
/// of a step.
std::string print(const std::vector<LayerRow>& rows, const Configuration& configuration, int64_t batch);

}  // namespace partita
