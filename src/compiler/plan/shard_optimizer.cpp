#include "compiler/plan/shard_optimizer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/plan/state_dims.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

using DimAxes = std::vector<Axes>;

class OptimizerSharder {
 public:
  OptimizerSharder(Plan plan, const Graph& graph, const Rules& rules, const OptimizerSharding& options)
      : plan_(std::move(plan)),
        graph_(graph),
        rules_(rules),
        options_(options),
        users_(graph.users()),
        cut_(graph.values.size()) {}

  Plan run() {
    const Axes axes = group_axes();
    if (axes.empty()) return std::move(plan_);
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const State& state = graph_.states[s];
      if (state.kind == StateKind::parameter && is_updated(state)) shard(s, axes);
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) shard_like_parameter(s);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].phase == Phase::update || checks_gradient(graph_.nodes[n])) cut_update(n);
    }
    cut_conversions_of_states(plan_, graph_, rules_);
    return std::move(plan_);
  }

 private:
  DimAxes& placement(size_t state) { return plan_.inputs[graph_.inputs.size() + state]; }

  bool is_updated(const State& state) const {
    return state.exit >= 0 && graph_.values[state.exit].producer >= 0 &&
           graph_.nodes[graph_.values[state.exit].producer].phase == Phase::update;
  }

  /// Returns the axes that cut the batch or, unless `options.group` is 0, the last of them (those with the fastest
  /// links) that make up that many ranks. None for a group of one rank, and if `options.group` is 0 and nothing cuts
  /// the batch. Throws InvalidArgument, with the possible sizes, if no axes make up such a group.
  Axes group_axes() const {
    Axes data;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const int dim = graph_.inputs[i].batch_dim;
      if (dim < 0) continue;
      for (const int axis : plan_.inputs[i][dim]) {
        if (std::ranges::find(data, axis) == data.end()) data.push_back(axis);
      }
    }
    if (options_.group == 0) return data;
    std::vector<int64_t> possible{1};
    for (size_t from = data.size(); from-- > 0;) {
      const Axes last(data.begin() + static_cast<std::ptrdiff_t>(from), data.end());
      if (plan_.mesh.ways(last) == options_.group) return last;
      possible.push_back(plan_.mesh.ways(last));
    }
    if (options_.group == 1) return {};
    throw InvalidArgument(
        "[zero] the axes of the batch cannot form a group of this size, got {} ranks, expected one of {}",
        options_.group, fmt::join(possible, ", "));
  }

  /// Whether a node of the backward pass makes one number of a value alone, as a check of a gradient does.
  bool checks_gradient(const Node& node) const {
    return node.phase == Phase::backward && node.inputs.size() == 1 && graph_.type(node.outputs[0]).rank() == 0;
  }

  /// Lets `cut_update` cut the update of state `s`, a parameter, over `axes` (sets `sharded_` and `cut_`). Cuts in the
  /// plan from level 2 on its gradient, and the parameter itself on level 3, where it is then regathered, or if only
  /// conversions use it. Does nothing if it is smaller than the threshold, cannot be divided further or has no
  /// gradient.
  void shard(size_t s, const Axes& axes) {
    const State& state = graph_.states[s];
    const Type& type = graph_.type(state.entry);
    if (type.bytes() < options_.threshold) return;
    const std::optional<DimAxes> dims = divided(type, placement(s), axes);
    if (!dims) return;
    const ValueId gradient = gradient_of(state);
    if (gradient < 0) return;
    sharded_.emplace(graph_.values[state.entry].name, *dims);
    shapes_.emplace(graph_.values[state.entry].name, type.shape);
    cut_[gradient] = *dims;
    if (options_.level >= 2) plan_.results[gradient] = *dims;
    if (options_.level < 3 && !is_only_converted(state.entry)) return;
    placement(s) = cut_[state.entry] = *dims;
    if (options_.level == 3) plan_.regathered.insert(s);
  }

  /// Whether only conversions use a state before the update: then they, and not the update, are gathered.
  bool is_only_converted(ValueId entry) const {
    bool is_converted = false;
    for (const NodeId user : users_[entry]) {
      if (graph_.nodes[user].phase == Phase::update) continue;
      if (!rules_.op(static_cast<size_t>(user)).traits.is_conversion) return false;
      is_converted = true;
    }
    return is_converted;
  }

  /// Returns `dims` with those of `axes` that it does not use added to the first dimension that divides evenly, or else
  /// to the longest one with at least one element per part. None if no axis is left or no dimension has as many.
  std::optional<DimAxes> divided(const Type& type, DimAxes dims, const Axes& axes) const {
    Axes added;
    for (const int axis : axes) {
      const bool used =
          std::ranges::any_of(dims, [axis](const Axes& own) { return std::ranges::find(own, axis) != own.end(); });
      if (!used) added.push_back(axis);
    }
    if (added.empty()) return std::nullopt;
    int best = -1;
    bool best_even = false;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t size = type.shape[d], parts = plan_.mesh.ways(dims[d]) * plan_.mesh.ways(added);
      if (parts > size) continue;
      const bool even = size % parts == 0;
      if (best_even || (best >= 0 && !even && type.shape[best] >= size)) continue;
      best = static_cast<int>(d);
      best_even = even;
    }
    if (best < 0) return std::nullopt;
    dims[best].insert(dims[best].end(), added.begin(), added.end());
    return dims;
  }

  /// Returns the gradient that the backward pass computes for a parameter, which must be stored: the nearest
  /// operand of its type that the nodes of its update take from before the update. -1 if there is none.
  ValueId gradient_of(const State& state) const {
    const Type& type = graph_.type(state.entry);
    std::vector<NodeId> pending{graph_.values[state.exit].producer};
    std::unordered_set<NodeId> seen(pending.begin(), pending.end());
    for (size_t next = 0; next < pending.size(); ++next) {
      for (const ValueId input : graph_.nodes[pending[next]].inputs) {
        const NodeId producer = graph_.values[input].producer;
        if (producer < 0) continue;
        const bool is_update = graph_.nodes[producer].phase == Phase::update;
        if (!is_update && graph_.type(input) == type) return input;
        if (is_update && seen.insert(producer).second) pending.push_back(producer);
      }
    }
    return -1;
  }

  /// Cuts the state of an optimizer like its parameter.
  void shard_like_parameter(size_t s) {
    const State& state = graph_.states[s];
    const auto owner = sharded_.find(state.owner);
    if (state.kind != StateKind::optimizer || owner == sharded_.end()) return;
    const Shape &own = graph_.type(state.entry).shape, &whole = shapes_.at(state.owner);
    if (own.size() != whole.size()) return;
    const DimAxes dims = dims_like_parameter(owner->second, whole, own);
    if (!is_cut(dims)) return;
    placement(s) = cut_[state.entry] = dims;
  }

  /// Cuts an update as its sharded operands are cut; other operands are resharded to fit. Does nothing if none is
  /// sharded.
  void cut_update(size_t n) {
    const Node& node = graph_.nodes[n];
    std::vector<Suggestion> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_cut(cut_[node.inputs[i]])) operands.push_back({&rules_[n].inputs[i], cut_[node.inputs[i]]});
    }
    if (operands.empty()) return;
    plan_.cuts[n] = suggest_cut(rules_[n], operands, plan_.mesh, /*expandable=*/false);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      cut_[node.outputs[k]] = output_sharding(rules_[n], plan_.cuts[n], static_cast<int>(k)).dims;
    }
  }

  Plan plan_;
  const Graph& graph_;
  const Rules& rules_;
  const OptimizerSharding options_;
  const std::vector<std::vector<NodeId>> users_;      // per value
  std::unordered_map<std::string, DimAxes> sharded_;  // by name of the parameter: its states and gradient
  std::unordered_map<std::string, Shape> shapes_;     // by name of these parameters
  std::vector<DimAxes> cut_;                          // per value of the update; empty: as in the plan
};

}  // namespace

void cut_conversions_of_states(Plan& plan, const Graph& graph, const Rules& rules) {
  std::unordered_map<ValueId, const DimAxes*> placed;
  for (size_t s = 0; s < graph.states.size(); ++s) {
    placed.emplace(graph.states[s].entry, &plan.inputs[graph.inputs.size() + s]);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!rules.op(n).traits.is_conversion) continue;
    const auto state = placed.find(graph.nodes[n].inputs[0]);
    if (state == placed.end() || !is_cut(*state->second)) continue;
    plan.cuts[n] = suggest_cut(rules[n], {{&rules[n].inputs[0], *state->second}}, plan.mesh, /*expandable=*/false);
  }
}

Plan shard_optimizer(Plan plan, const Graph& graph, const Rules& rules, const OptimizerSharding& options) {
  if (options.level == 0) return plan;
  return OptimizerSharder(std::move(plan), graph, rules, options).run();
}

}  // namespace partita
