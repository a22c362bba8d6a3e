#include "compiler/plan/cut_micro_batches.h"

#include <algorithm>

#include "ir/sharding/propagate.h"

namespace partita {
namespace {

/// Lists the divisors of a batch, the first twelve of them, for a message: "one of 1, 2, 4, 8".
std::string counts_for(int64_t batch) {
  constexpr size_t kShown = 12;
  std::vector<int64_t> divisors;
  for (int64_t count = 1; count <= batch && divisors.size() < kShown; ++count) {
    if (batch % count == 0) divisors.push_back(count);
  }
  return fmt::format("one of {}{}", fmt::join(divisors, ", "), divisors.back() == batch ? "" : ", ...");
}

using DimAxes = std::vector<Axes>;

void prepend(DimAxes& dims, const DimAxes& micro) {
  for (size_t d = 0; d < dims.size(); ++d) dims[d].insert(dims[d].begin(), micro[d].begin(), micro[d].end());
}

/// Checks that `count` micro-batches divide the batch of each input, with at least one row for each rank that shares
/// it. Throws InvalidArgument otherwise.
void require_rows(const Plan& plan, const Graph& graph, int64_t count) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto [value, batch_dim] = std::pair(graph.inputs[i].value, graph.inputs[i].batch_dim);
    if (batch_dim < 0) continue;
    const int64_t batch = graph.type(value).shape[batch_dim];
    require_whole_micro_batches(batch, count);
    const int64_t ranks = plan.mesh.ways(plan.inputs[i][batch_dim]);
    if (batch / count >= ranks) continue;
    int64_t most = std::max<int64_t>(1, batch / ranks);
    while (batch % most != 0) --most;
    throw InvalidArgument(
        "[micro-batches] a micro-batch has fewer rows than ranks that share it, got {} micro-batches of batch {} on {} "
        "ranks, expected at most {}",
        count, batch, ranks, most);
  }
}

/// Merges a plan over ranks with the cuts over micro-batches.
class MicroCutter {
 public:
  MicroCutter(Plan plan, const Graph& graph, const Rules& rules, const MicroCuts& cuts)
      : plan_(std::move(plan)), graph_(graph), rules_(rules), micro_(cuts) {
    plan_.mesh = plan_.mesh.with_micro_batches(cuts.count);
    require_rows(plan_, graph, cuts.count);
    for (auto* lists : {&micro_.values, &micro_.nodes}) {
      for (DimAxes& dims : *lists) {
        for (Axes& axes : dims) std::ranges::fill(axes, plan_.mesh.micro_axis());
      }
    }
  }

  Plan run() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      prepend(plan_.inputs[i], micro_.values[graph_.inputs[i].value]);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) merge(n);
    for (auto& [value, dims] : plan_.results) {
      const DimAxes &micro = micro_.values[value], over_ranks = dims;
      prepend(dims, micro);
      if (illegal(graph_.type(value), dims, plan_.mesh).empty()) continue;
      for (size_t d = 0; d < dims.size(); ++d) dims[d] = micro[d].empty() ? over_ranks[d] : micro[d];
    }
    return std::move(plan_);
  }

  /// Checks that the axis of micro-batches cuts the inputs, nodes and results of `plan` where `micro()` says, and no
  /// states or outputs. Throws InvalidArgument otherwise. Only the ranks' cuts are in this object's own plan.
  void expect(const Plan& plan) const {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ValueId value = graph_.inputs[i].value;
      expect_dims("%" + graph_.values[value].name, plan.inputs[i], micro_.values[value]);
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const ValueId value = graph_.states[s].entry;
      const size_t dims = graph_.type(value).shape.size();
      expect_dims("%" + graph_.values[value].name, plan.inputs[graph_.inputs.size() + s], DimAxes(dims));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) expect_dims(graph_.nodes[n].name, plan.cuts[n], micro_.nodes[n]);
    for (const auto& [value, dims] : plan.results) {
      expect_dims("%" + graph_.values[value].name, dims, micro_.values[value]);
    }
    for (const auto& [name, dims] : plan.outputs) expect_dims("output " + name, dims, DimAxes(dims.size()));
  }

  const MicroCuts& micro() const { return micro_; }

 private:
  /// Checks that the axis of micro-batches comes first where it is in `micro`, and is absent elsewhere. `given` has the
  /// axes of dimensions or, for a node, of factors. Throws InvalidArgument otherwise.
  void expect_dims(const std::string& what, const DimAxes& given, const DimAxes& micro) const {
    const auto print_axes = [&](const DimAxes& dims) {
      std::string text;
      for (const Axes& axes : dims) text += fmt::format("{}{{{}}}", text.empty() ? "" : " ", plan_.mesh.print(axes));
      return text;
    };
    for (size_t d = 0; d < given.size(); ++d) {
      const auto found = std::ranges::find(given[d], plan_.mesh.micro_axis());
      if (micro[d].empty() ? found == given[d].end() : found == given[d].begin() && !given[d].empty()) continue;
      throw InvalidArgument(
          "[plan] micro-batches do not cut {} as its operands and users need it, got '{}', expected '{}' and then axes "
          "of ranks",
          what, print_axes(given), print_axes(micro));
    }
  }

  /// Adds the cut over micro-batches, if there is one, to that of node `n` over ranks. If a factor has too few elements
  /// for both (the groups of a norm, of which each micro-batch has its own), the axes of ranks are divided anew among
  /// the factors of its dimension or, if that is not legal, do not cut the factors that micro-batches cut. Throws
  /// InvalidArgument if no such cut is legal.
  void merge(size_t n) {
    if (!is_cut(micro_.nodes[n])) return;
    const Cut over_ranks = plan_.cuts[n];
    prepend(plan_.cuts[n], micro_.nodes[n]);
    const std::string reason = illegal(rules_[n], plan_.cuts[n], plan_.mesh);
    if (reason.empty()) return;
    for (Cut& cut : alternatives(n, over_ranks)) {
      if (!illegal(rules_[n], cut, plan_.mesh).empty()) continue;
      plan_.cuts[n] = std::move(cut);
      return;
    }
    throw InvalidArgument(
        "[micro-batches] a node cannot be cut like this, got {} with {} micro-batches, expected fewer: {}",
        described_with_line(graph_.nodes[n]), plan_.mesh.micro_batches(), reason);
  }

  std::vector<Cut> alternatives(size_t n, const Cut& over_ranks) const {
    const ShardingRule& rule = rules_[n];
    std::vector<Cut> cuts;
    Cut alone = over_ranks;  // without the ranks' axes where micro-batches cut
    for (size_t f = 0; f < alone.size(); ++f) {
      if (!micro_.nodes[n][f].empty()) alone[f] = micro_.nodes[n][f];
    }
    for (const auto* tensors : {&rule.inputs, &rule.outputs}) {
      for (const TensorMap& tensor : *tensors) {
        for (const DimMap& dim : tensor) {
          if (dim.factors.size() < 2 || micro_.nodes[n][dim.factors[0]].empty()) continue;
          Axes axes = micro_.nodes[n][dim.factors[0]];
          for (const int factor : dim.factors) {
            axes.insert(axes.end(), over_ranks[factor].begin(), over_ranks[factor].end());
          }
          const auto spread = factors_from_dims(rule, dim, axes, plan_.mesh);
          if (!spread) continue;
          Cut& cut = cuts.emplace_back(alone);
          for (const auto& [factor, own] : *spread) cut[factor] = own;
        }
      }
    }
    cuts.push_back(std::move(alone));
    return cuts;
  }

  Plan plan_;
  const Graph& graph_;
  const Rules& rules_;
  MicroCuts micro_;
};

/// Returns a plan with nothing but the mesh and the inputs of `plan`, cut over ranks alone.
Plan of_ranks_alone(const Plan& plan) {
  Plan ranks{.mesh = plan.mesh, .inputs = plan.inputs};
  for (std::vector<Axes>& dims : ranks.inputs) {
    for (Axes& axes : dims) std::erase(axes, plan.mesh.micro_axis());
  }
  return ranks;
}

MicroCutter cutter_of(Plan ranks, const Graph& graph, const Rules& rules, int64_t count) {
  const Mesh mesh = ranks.mesh.with_micro_batches(count);  // throws unless the mesh can have that many
  require_rows(ranks, graph, mesh.micro_batches());  // checked first, since its message says more than that of a node
  return MicroCutter(std::move(ranks), graph, rules, find_micro_cuts(graph, rules, count));
}

}  // namespace

void require_whole_micro_batches(int64_t batch, int64_t count) {
  if (batch % count == 0) return;
  throw InvalidArgument(
      "[micro-batches] the global batch does not divide, got {} micro-batches of batch {}, expected {}", count, batch,
      counts_for(batch));
}

void verify_micro_batches(const Plan& plan, const Graph& graph, const Rules& rules) {
  if (plan.mesh.micro_axis() < 0) return;
  cutter_of(of_ranks_alone(plan), graph, rules, plan.mesh.micro_batches()).expect(plan);
}

std::vector<bool> before_micro_batches(const Plan& plan, const Graph& graph, const Rules& rules) {
  if (plan.mesh.micro_axis() < 0) return std::vector<bool>(graph.nodes.size(), false);
  return cutter_of(of_ranks_alone(plan), graph, rules, plan.mesh.micro_batches()).micro().before;
}

Plan cut_micro_batches(Plan plan, const Graph& graph, const Rules& rules, int64_t count) {
  if (count == 1) return plan;
  return cutter_of(std::move(plan), graph, rules, count).run();
}

Plan cut_micro_batches(Plan plan, const Graph& graph, const Rules& rules, const MicroCuts& cuts) {
  return MicroCutter(std::move(plan), graph, rules, cuts).run();
}

}  // namespace partita
