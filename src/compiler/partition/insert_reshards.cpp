#include "compiler/partition/insert_reshards.h"

#include <algorithm>

#include "compiler/partition/expand_nodes.h"
#include "compiler/partition/materialisations.h"
#include "ir/graph/rules.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

UsedNames used_names(const Graph& graph) {
  UsedNames names;
  for (const ValueInfo& value : graph.values) names.add(value.name);
  for (const Node& node : graph.nodes) names.add(node.name);
  return names;
}

using Dims = std::vector<Axes>;

class ReshardInserter {
 public:
  /// `graph` must be the graph that `expanded` describes.
  ReshardInserter(const Graph& graph, const Expanded& expanded, const Rules& rules, const Plan& plan,
                  const ReshardOptions& options)
      : from_(graph),
        cuts_(expanded.cuts),
        operands_(expanded.operands),
        results_(expanded.results),
        rules_(rules),
        plan_(plan),
        options_(options),
        made_(from_.values.size(), -1),
        regathered_(from_.values.size(), false),
        result_{{.graph = {.name = from_.name}, .mesh = plan.mesh}},
        values_(result_, used_names(from_)) {
    for (const size_t state : plan.regathered) regathered_[from_.states[state].entry] = true;
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      const Node& node = from_.nodes[n];
      if (!rules_.op(n).traits.is_conversion || !regathered_[node.inputs[0]] || !cuts_[n] || !is_cut(*cuts_[n]))
        continue;
      regathered_[node.outputs[0]] = true;
      conversions_.push_back(node.outputs[0]);
    }
  }

  ReshardedGraph run() {
    add_entries();
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      if (n > 0 && from_.nodes[n].phase != from_.nodes[n - 1].phase) release_gathered();
      add_node(n);
    }
    for (size_t s = 0; s < from_.states.size(); ++s) {
      if (from_.states[s].exit < 0) continue;
      const Sharding& target = result_.shardings[result_.graph.states[s].entry];
      result_.graph.states[s].exit = values_.reshard_to(made_[from_.states[s].exit], target, "store");
    }
    for (const Output& output : from_.outputs) {
      const auto wanted = plan_.outputs.find(output.name);
      const Sharding now = within_micro_batch(result_.shardings[values_.latest(made_[output.value])], plan_.mesh);
      const Sharding whole{.dims = wanted != plan_.outputs.end() ? wanted->second : now.dims};
      result_.graph.outputs.push_back(output);
      result_.graph.outputs.back().value = values_.reshard_to(made_[output.value], whole, "forward");
    }
    return std::move(result_);
  }

 private:
  /// Forgets the gathered versions of the states in Plan::regathered and of their conversions, so that the nodes of the
  /// next phase gather them anew. Adds no nodes itself.
  void release_gathered() {
    for (const size_t state : plan_.regathered) values_.release(result_.graph.states[state].entry);
    for (const ValueId value : conversions_) {
      if (made_[value] >= 0) values_.release(made_[value]);
    }
  }

  void add_entries() {
    size_t at = 0;
    for (const Input& input : from_.inputs) {
      result_.graph.inputs.push_back(input);
      const ValueId value = result_.graph.inputs.back().value = add_entry(input.value, plan_.inputs[at++]);
      // A whole value from another stage is complete only after all micro-batches there.
      const bool is_whole = micro_sharding(result_.shardings[value], plan_.mesh).whole();
      values_.set_late(value, input.from_stage >= 0 && !input.once && is_whole);
    }
    for (const State& state : from_.states) {
      result_.graph.states.push_back(state);
      result_.graph.states.back().entry = add_entry(state.entry, plan_.inputs[at++]);
      result_.graph.states.back().exit = -1;
    }
  }

  ValueId add_entry(ValueId old, const Dims& dims) {
    return made_[old] = values_.add_value(from_.values[old].name, from_.type(old), -1, 0, {.dims = dims});
  }

  void add_node(size_t n) {
    const Node& node = from_.nodes[n];
    const std::vector<Type> outputs = from_.types(node.outputs);
    const ShardingRule& rule = rules_[n];
    const Cut cut = cuts_[n] ? *cuts_[n] : cut_by_operands(n, rule);
    const bool late = is_late(node, cut);
    std::vector<Sharding> given;
    for (ValueId input : node.inputs) given.push_back(result_.shardings[values_.latest(made_[input], late)]);
    const Sharding passed = propagate_partial(rule, cut, given);
    Node copy = node;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Sharding target = operand_sharding(rule, cut, static_cast<int>(i));
      if (!given[i].partial.empty() && !passed.partial.empty()) {
        target.kind = passed.kind;
        target.partial = passed.partial;
      }
      const std::string reason = regathered_[node.inputs[i]]    ? kRegather
                                 : node.phase == Phase::forward ? "forward"
                                                                : "gradient";
      copy.inputs[i] = values_.reshard_to(made_[node.inputs[i]], target, reason);
    }
    // A node that is cut and needs all micro-batches takes them from a prologue (compiler/partition/prologue.h).
    const bool runs_late = !cuts_micro_batches(cut) &&
                           std::ranges::any_of(copy.inputs, [&](ValueId input) { return values_.is_late(input); });
    const NodeId id = static_cast<NodeId>(result_.graph.nodes.size());
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      Sharding sharding = result_sharding(rule, cut, passed, static_cast<int>(k));
      copy.outputs[k] = made_[node.outputs[k]] = values_.add_value(from_.values[node.outputs[k]].name, outputs[k], id,
                                                                   static_cast<int>(k), std::move(sharding));
      values_.set_late(copy.outputs[k], late || runs_late);
    }
    const std::string reason = node.phase == Phase::forward ? "forward" : "gradient";
    result_.graph.nodes.push_back(std::move(copy));
    result_.cuts.push_back(cut);
    for (ValueId output : node.outputs) place(output, reason);
  }

  /// Adds the reshards of result `old` that come before any use: it is reduced over the ranks if it is partial and
  /// `options_.partial_sums` is false, then moved to the sharding that the plan gives it, if any.
  void place(ValueId old, const std::string& reason) {
    const Sharding now = result_.shardings[made_[old]];
    const MicroSharding micro = micro_sharding(now, plan_.mesh);
    const auto place_at = [&](Dims dims, const std::string& why) {
      // A sum over micro-batches stays partial; it is resolved where it is used.
      const Sharding within = within_micro_batch({.dims = std::move(dims)}, plan_.mesh);
      made_[old] = values_.reshard_to(made_[old], over_micro_batches(within, micro, plan_.mesh), why);
    };
    if (!options_.partial_sums && !within_micro_batch(now, plan_.mesh).partial.empty()) place_at(now.dims, reason);
    const auto wanted = results_.find(old);
    if (wanted != results_.end()) place_at(wanted->second, "forward");
  }

  /// Whether a node runs once, after all micro-batches have produced what it needs of them.
  bool is_late(const Node& node, const Cut& cut) const {
    if (plan_.mesh.micro_axis() < 0 || cuts_micro_batches(cut)) return false;
    return node.phase == Phase::update ||
           std::ranges::any_of(node.inputs, [&](ValueId input) { return values_.is_late(made_[input]); });
  }

  bool cuts_micro_batches(const Cut& cut) const {
    return std::ranges::any_of(
        cut, [&](const Axes& axes) { return std::ranges::find(axes, plan_.mesh.micro_axis()) != axes.end(); });
  }

  /// Returns the cut of a node of an expansion, which is not expanded again. Operands of the expanded node keep the
  /// shardings that it needed, other operands those in which they were made. The node is cut over micro-batches
  /// wherever an operand is; if it then cannot be cut over the ranks as well, only over micro-batches.
  Cut cut_by_operands(size_t n, const ShardingRule& rule) const {
    const Node& node = from_.nodes[n];
    const OperandDims& of_expanded = operands_.at(static_cast<NodeId>(n));
    std::vector<Suggestion> operands, in_time;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Sharding& sharding = result_.shardings[made_[node.inputs[i]]];
      const auto wanted = of_expanded.find(node.inputs[i]);
      operands.push_back({&rule.inputs[i], wanted != of_expanded.end() ? wanted->second : sharding.dims});
      MicroSharding micro = micro_sharding(sharding, plan_.mesh);
      micro.partial = Reduce::none;
      if (micro.whole()) continue;
      const Sharding whole{.dims = Dims(sharding.dims.size())};
      in_time.push_back({&rule.inputs[i], over_micro_batches(whole, micro, plan_.mesh).dims});
    }
    Cut cut = suggest_cut(rule, operands, plan_.mesh, /*expandable=*/false);
    const auto keeps = [&](const Suggestion& wanted) {
      const Dims dims = dims_from_factors(rule, cut, *wanted.tensor);
      for (size_t d = 0; d < dims.size(); ++d) {
        if (!wanted.dims[d].empty() && (dims[d].empty() || dims[d][0] != wanted.dims[d][0])) return false;
      }
      return true;
    };
    if (std::ranges::all_of(in_time, keeps)) return cut;
    return suggest_cut(rule, in_time, plan_.mesh, /*expandable=*/false);
  }

  const Graph& from_;
  const std::vector<std::optional<Cut>>& cuts_;
  const std::map<NodeId, OperandDims>& operands_;
  const std::map<ValueId, Dims>& results_;
  const Rules& rules_;
  const Plan& plan_;
  const ReshardOptions options_;
  std::vector<ValueId> made_;         // per value of the graph: the value of the result as its node makes it
  std::vector<bool> regathered_;      // per value of the graph
  std::vector<ValueId> conversions_;  // values of the graph: conversions of regathered states, cut as these are
  ReshardedGraph result_;
  Materialisations values_;
};

}  // namespace

ReshardedGraph insert_reshards(const Graph& graph, const OpSet& ops, const Plan& plan, const ReshardOptions& options) {
  RuleTable table(ops);
  return insert_reshards(graph, table, plan, options);
}

ReshardedGraph insert_reshards(const Graph& graph, RuleTable& table, const Plan& plan, const ReshardOptions& options) {
  const Rules rules(graph, table);
  if (!needs_expansion(plan, rules)) {
    const Expanded same{.cuts = {plan.cuts.begin(), plan.cuts.end()}, .results = plan.results};
    return ReshardInserter(graph, same, rules, plan, options).run();
  }
  const Expanded expanded = expand_nodes(graph, rules, table.ops(), plan);
  return ReshardInserter(expanded.graph, expanded, Rules(expanded.graph, table), plan, options).run();
}

}  // namespace partita
