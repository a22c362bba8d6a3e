#pragma once
// What groups of layers cost under a configuration, and how they are cut.

#include "compiler/plan/plan.h"
#include "planner/pricing/network_costs.h"

namespace partita {

/// Layers of one kind, one behind the other. Numbers are of one of them, on one rank.
struct LayerRow {
  std::string name;           // "net/h/0..95", "net: embedding, add"
  size_t begin = 0, end = 0;  // nodes of the folded graph
  int64_t copies = 1;
  std::optional<Recompute> recomputed{};       // where layers of the kind differ in it
  std::string strategy;                        // "data: batch; tensor: columns, sums"
  double forward = 0, backward = 0;            // seconds of a micro-batch in kernels; backward with what it recomputes
  std::map<Collective, double> communication;  // seconds of a micro-batch, forward and backward
  double flops = 0;                            // of a micro-batch
  double states = 0;                           // bytes of parameters, gradients, masters and the optimizer's states
  double kept = 0;                             // bytes that a micro-batch keeps for its backward

  std::string title() const;  // the name, and how they are recomputed
  double communicates() const;
  double seconds() const { return forward + backward + communicates(); }
};

/// `plan` is of the folded forward graph, for how layers are cut; `stages` says which of them are recomputed.
std::vector<LayerRow> layer_table(NetworkCosts& costs, const Configuration& configuration,
                                  const std::vector<StageLayers>& stages, const Plan& plan, const Rules& rules,
                                  const Precision& precision);

/// What each axis of the mesh cuts of the nodes [begin, end): dimensions of what they make, or sums.
std::string strategy_of(const Plan& plan, const Rules& rules, size_t begin, size_t end);

/// A table for people.
std::string print(const std::vector<LayerRow>& rows, const Configuration& configuration, int64_t batch);

}  // namespace partita
