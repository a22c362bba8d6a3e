#include "compiler/plan/complete_plan.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/plan/gradient_cuts.h"
#include "compiler/plan/state_dims.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

using DimAxes = std::vector<Axes>;

class PlanCompletion {
 public:
  PlanCompletion(const Graph& graph, const Rules& rules, const Mesh& mesh, std::string search, PartialPlan partial)
      : graph_(graph), rules_(rules), mesh_(mesh), decided_(std::move(partial)) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) nodes_.emplace(graph.nodes[n].name, n);
    plan_ = {.graph = graph.name,
             .search = std::move(search),
             .mesh = mesh,
             .inputs = {},
             .cuts = {},
             .results = {},
             .outputs = {}};
    plan_.cuts.resize(graph.nodes.size());
    is_decided_.resize(graph.nodes.size(), false);
    plan_.results = decided_.results;
    dims_.resize(graph.values.size());
    partial_.resize(graph.values.size());
    is_state_.resize(graph.values.size(), false);
  }

  Plan make() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) enter(graph_.inputs[i].value, decided_.inputs[i]);
    enter_states();
    // Gradient nodes need not come after their origins, so a first pass decides the forward nodes that use no
    // gradients. A user's program may use gradients in the forward phase too; such nodes are decided in the second
    // pass.
    for (const bool forward : {true, false}) {
      for (size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (is_decided_[n] || (forward && !is_before_gradients(n))) continue;
        if (const Cut* same = cut_of_recomputed(n)) {
          decide(n, *same);
          continue;
        }
        decide(n, decided_.cuts[n] ? *decided_.cuts[n]
                                   : suggest_cut(rules_[n], suggestions(n), mesh_, rules_.expandable(n)));
      }
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) take_cut_of_users(n);
    return std::move(plan_);
  }

 private:
  void enter(ValueId value, DimAxes dims) {
    dims_[value] = dims;
    plan_.inputs.push_back(std::move(dims));
  }

  void enter_states() {
    std::unordered_map<ValueId, DimAxes> required;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!decided_.cuts[n]) continue;
      for (size_t i = 0; i < graph_.nodes[n].inputs.size(); ++i) {
        DimAxes dims = dims_from_factors(rules_[n], *decided_.cuts[n], rules_[n].inputs[i]);
        const auto [entry, fresh] = required.try_emplace(graph_.nodes[n].inputs[i], dims);
        if (!fresh && parts(dims) > parts(entry->second)) entry->second = std::move(dims);
      }
    }
    // A conversion of a state is cut as its user needs it, and the state as the conversion.
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const auto need = required.find(graph_.nodes[n].outputs[0]);
      if (!rules_.op(n).traits.is_conversion || decided_.cuts[n] || need == required.end()) continue;
      DimAxes dims = need->second;
      const auto [entry, fresh] = required.try_emplace(graph_.nodes[n].inputs[0], dims);
      if (!fresh && parts(dims) > parts(entry->second)) entry->second = std::move(dims);
    }
    std::vector<DimAxes> found(graph_.states.size());
    std::unordered_map<std::string, size_t> parameters;
    for (const bool owned : {false, true}) {  // an optimizer state may come before its parameter
      for (size_t s = 0; s < found.size(); ++s) {
        const State& state = graph_.states[s];
        if (state.owner.empty() == owned) continue;
        found[s].resize(graph_.type(state.entry).shape.size());
        const auto owner = parameters.find(state.owner);
        const auto requirement = required.find(state.entry);
        if (decided_.states[s]) {
          found[s] = *decided_.states[s];
        } else if (owner != parameters.end() && found[owner->second].size() == found[s].size()) {
          found[s] = dims_like_parameter(found[owner->second], shape_of(owner->second), shape_of(s));
        } else if (requirement != required.end()) {
          found[s] = requirement->second;
        }
        if (!owned) parameters.emplace(graph_.values[state.entry].name, s);
      }
    }
    for (size_t s = 0; s < found.size(); ++s) {
      is_state_[graph_.states[s].entry] = true;
      enter(graph_.states[s].entry, std::move(found[s]));
    }
  }

  const Shape& shape_of(size_t state) const { return graph_.type(graph_.states[state].entry).shape; }

  bool is_before_gradients(size_t n) const {
    const Node& node = graph_.nodes[n];
    return node.phase == Phase::forward && std::ranges::all_of(node.inputs, [&](ValueId input) {
             const NodeId producer = graph_.values[input].producer;
             return producer < 0 || is_decided_[static_cast<size_t>(producer)];
           });
  }

  /// Cut of the forward node that node `n` recomputes; null if it recomputes none or that node is undecided.
  const Cut* cut_of_recomputed(size_t n) const {
    const Node& node = graph_.nodes[n];
    if (node.phase != Phase::backward || node.recompute.empty()) return nullptr;
    const auto origin = nodes_.find(node.origin);
    return origin == nodes_.end() || !is_decided_[origin->second] ? nullptr : &plan_.cuts[origin->second];
  }

  int64_t parts(const DimAxes& dims) const {
    int64_t parts = 1;
    for (const Axes& axes : dims) parts *= mesh_.ways(axes);
    return parts;
  }

  std::vector<Suggestion> suggestions(size_t n) const {
    const Node& node = graph_.nodes[n];
    const auto origin = nodes_.find(node.origin);
    if (node.phase == Phase::backward && origin != nodes_.end() && is_decided_[origin->second])
      return gradient_suggestions(graph_, rules_, n, {origin->second, plan_.cuts[origin->second]}, dims_);
    std::vector<Suggestion> states, others;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      auto& list = is_state_[node.inputs[i]] ? states : others;
      list.push_back({&rules_[n].inputs[i], dims_[node.inputs[i]]});
    }
    if (node.phase == Phase::update && !states.empty()) return states;
    states.insert(states.end(), others.begin(), others.end());
    return states;
  }

  // Cuts a node that is not cut so far (a constant, the broadcast of a scalar) as its users need it. A sum of partial
  // values stays uncut, since each of them would have to be reduced first.
  void take_cut_of_users(size_t n) {
    const Node& node = graph_.nodes[n];
    const bool passes_partial =
        std::ranges::any_of(node.outputs, [&](ValueId output) { return !partial_[output].partial.empty(); });
    if (!is_cut(plan_.cuts[n]) && !decided_.cuts[n] && !passes_partial) {
      std::vector<Suggestion> outputs;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        const auto wanted = wanted_.find(node.outputs[k]);
        if (wanted != wanted_.end()) outputs.push_back({&rules_[n].outputs[k], wanted->second});
      }
      decide(n, suggest_cut(rules_[n], outputs, mesh_, /*expandable=*/false));
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const DimAxes dims = dims_from_factors(rules_[n], plan_.cuts[n], rules_[n].inputs[i]);
      if (is_cut(dims) && !is_cut(dims_[node.inputs[i]])) wanted_.emplace(node.inputs[i], dims);
    }
  }

  void decide(size_t n, Cut cut) {
    const Node& node = graph_.nodes[n];
    std::vector<Sharding> given;
    for (ValueId input : node.inputs) {
      given.push_back(partial_[input]);
      given.back().dims = dims_[input];
    }
    const Sharding passed = propagate_partial(rules_[n], cut, given);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const auto placed = decided_.results.find(node.outputs[k]);
      Sharding made = placed != decided_.results.end() ? Sharding{.dims = placed->second}
                                                       : result_sharding(rules_[n], cut, passed, static_cast<int>(k));
      dims_[node.outputs[k]] = std::exchange(made.dims, {});
      partial_[node.outputs[k]] = std::move(made);
    }
    plan_.cuts[n] = std::move(cut);
    is_decided_[n] = true;
  }

  const Graph& graph_;
  const Rules& rules_;
  const Mesh& mesh_;
  const PartialPlan decided_;
  std::vector<bool> is_state_, is_decided_;
  std::unordered_map<std::string, size_t> nodes_;
  std::vector<DimAxes> dims_;          // per value: as its node makes it
  std::vector<Sharding> partial_;      // per value: the axes that it is partial over; `dims` is empty
  std::map<ValueId, DimAxes> wanted_;  // the sharding that a user needs of an uncut value
  Plan plan_;
};

}  // namespace

PartialPlan::PartialPlan(const Graph& graph) : states(graph.states.size()), cuts(graph.nodes.size()) {
  for (const Input& input : graph.inputs) inputs.emplace_back(graph.type(input.value).shape.size());
}

Plan complete_plan(const Graph& graph, const Rules& rules, const Mesh& mesh, std::string search, PartialPlan partial) {
  return PlanCompletion(graph, rules, mesh, std::move(search), std::move(partial)).make();
}

}  // namespace partita
