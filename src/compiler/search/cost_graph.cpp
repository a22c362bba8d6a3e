#include "compiler/search/cost_graph.h"

#include <algorithm>
#include <set>

#include "compiler/search/keys.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

using ValueAlternatives = std::shared_ptr<const std::vector<ValueAlternative>>;

std::string table_key(const void* first, size_t result, const void* second, size_t operand, TypeId type) {
  std::string key;
  add_pointer(key, first);
  add_integer(key, static_cast<int64_t>(result));
  add_pointer(key, second);
  add_integer(key, static_cast<int64_t>(operand));
  add_integer(key, type);
  return key;
}

class CostGraphBuilder {
 public:
  CostGraphBuilder(const ForwardNodes& nodes, const Mesh& mesh, PartialPlan pinned, const CostGraphOptions& options)
      : nodes_(nodes),
        graph_(nodes.graph()),
        mesh_(mesh),
        options_(options),
        result_(graph_, nodes.rules(), mesh, std::move(pinned), options.costs),
        reshards_(*result_.reshards),
        alternatives_(node_alternatives(nodes, mesh, result_.pinned, options, reshards_)) {}

  CostGraph run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (nodes_.is_forward(n)) add_node_variable(n);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!nodes_.is_forward(n)) continue;
      for (size_t k = 0; k < graph_.nodes[n].outputs.size(); ++k) add_value(n, k);
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const ValueId entry = graph_.states[s].entry;
      if (nodes_.uses(entry).size() > 1) add_state(s);
      if (nodes_.uses(entry).size() == 1) result_.own_state[entry] = static_cast<int>(s);
    }
    return std::move(result_);
  }

 private:
  size_t add_variable(Decision decision, std::shared_ptr<const std::vector<double>> seconds,
                      std::shared_ptr<const std::vector<double>> bytes) {
    result_.problem.variables.push_back({std::move(seconds), std::move(bytes)});
    result_.decisions.push_back(decision);
    result_.nodes.emplace_back();
    result_.values.emplace_back();
    result_.sums.emplace_back();
    return result_.decisions.size() - 1;
  }

  void add_node_variable(size_t n) {
    const auto& [seconds, bytes] = costs_of(*alternatives_[n], [](const NodeAlternative& alternative) {
      return std::pair(alternative.seconds, alternative.bytes);
    });
    const size_t variable = add_variable({Decision::Kind::node, n}, seconds, bytes);
    result_.nodes[variable] = alternatives_[n];
    result_.variable_of_node[n] = static_cast<int>(variable);
  }

  void add_value(size_t n, size_t k) {
    const ValueId value = graph_.nodes[n].outputs[k];
    const std::vector<Use>& uses = nodes_.uses(value);
    const size_t producer = static_cast<size_t>(result_.variable_of_node[n]);
    if (uses.empty()) return;
    const TypeId type = reshards_.type(graph_.type(value));
    if (uses.size() == 1) {
      const size_t user = uses[0].node, operand = uses[0].operand;
      std::string key = table_key(alternatives_[n].get(), k, alternatives_[user].get(), operand, type);
      add_edge(producer, static_cast<size_t>(result_.variable_of_node[user]), std::move(key), [&](size_t a, size_t b) {
        const NodeAlternative &from = (*alternatives_[n])[a], &to = (*alternatives_[user])[b];
        return pair_seconds(type, {from.makes[k], from.wants[k]}, {to.needs[operand], to.gives[operand]});
      });
      return;
    }
    const size_t shared =
        add_shared({Decision::Kind::value, static_cast<size_t>(value)}, value, value_alternatives(n, k, uses), uses);
    std::string key = table_key(alternatives_[n].get(), k, result_.values[shared].get(), 0, type);
    const auto& list = *result_.values[shared];
    add_edge(producer, shared, std::move(key), [&](size_t a, size_t b) {
      const NodeAlternative& from = (*alternatives_[n])[a];
      return pair_seconds(type, {from.makes[k], from.wants[k]}, list[b]);
    });
  }

  void add_state(size_t s) {
    const ValueId value = graph_.states[s].entry;
    const auto& uses = nodes_.uses(value);
    add_shared({Decision::Kind::state, s}, value, state_alternatives(s, uses), uses);
  }

  /// Adds a variable for a value or state of several users, with the alternatives `list`, and the costs of moving it to
  /// each of them. Returns the variable's index.
  size_t add_shared(Decision decision, ValueId value, ValueAlternatives list, const std::vector<Use>& uses) {
    const TypeId type = reshards_.type(graph_.type(value));
    const bool is_state = decision.kind == Decision::Kind::state;
    const auto& [seconds, bytes] =
        costs_of(*list, [&](const ValueAlternative& one) { return shared_costs(decision, value, one, uses); });
    const size_t shared = add_variable(decision, seconds, bytes);
    result_.values[shared] = list;
    result_.sums[shared] = nodes_.sums(value);
    if (!is_state) result_.variable_of_value[value] = static_cast<int>(shared);
    for (const Use& use : uses) {
      const size_t user = use.node, operand = use.operand;
      std::string key = table_key(list.get(), 0, alternatives_[user].get(), operand, type);
      add_edge(shared, static_cast<size_t>(result_.variable_of_node[user]), std::move(key), [&](size_t a, size_t b) {
        const NodeAlternative& to = (*alternatives_[user])[b];
        return pair_seconds(type, (*list)[a], {to.needs[operand], to.gives[operand]});
      });
    }
    return shared;
  }

  std::pair<double, double> shared_costs(const Decision& decision, ValueId value, const ValueAlternative& one,
                                         const std::vector<Use>& uses) {
    const Type& type = graph_.type(value);
    const Sharding& lies = reshards_.sharding(one.value);
    double seconds = 0, bytes = 0;
    int64_t gradients = 0;
    bool kept = false;
    for (const auto& [user, operand] : uses) {
      const NodeProgram& program = nodes_.program(user);
      gradients += program.given()[operand] >= 0;
      kept = kept || program.reads(program.operands()[operand]);
    }
    if (one.gradient >= 0 && gradients > 1) {
      const double part = largest_part(type, reshards_.sharding(one.gradient).dims, mesh_);
      seconds +=
          static_cast<double>(gradients - 1) * (3 * part * options_.costs.byte_seconds + options_.costs.node_seconds);
    }
    if (decision.kind == Decision::Kind::state) {
      const StateCosts state = state_costs(nodes_, decision.index, lies.dims, options_.costs, mesh_);
      seconds += state.seconds;
      bytes += state.bytes;
      if (one.gradient >= 0) {
        const ShardingId whole = reshards_.id({.dims = lies.dims});
        seconds += reshards_.of_gradient(reshards_.type(type), one.gradient, whole);
      }
    } else if (kept) {
      bytes += options_.costs.kept_share * largest_part(type, lies.dims, mesh_);
    }
    return {seconds, bytes};
  }

  /// Returns the seconds to move a value to its user and its gradient, if there is one, back. A partial sum is passed
  /// on as it is, or reduced; infinite if the receiver needs another partial sum.
  double pair_seconds(TypeId type, const ValueAlternative& from, const ValueAlternative& to) {
    double sum = reshards_.passed(type, from.value, to.value);
    if (from.gradient >= 0 && to.gradient >= 0) sum += reshards_.passed(type, to.gradient, from.gradient);
    return sum;
  }

  using Costs = std::pair<std::shared_ptr<const std::vector<double>>, std::shared_ptr<const std::vector<double>>>;
  /// Returns the seconds and the bytes of each alternative of a list, which `costs_of_one` returns; those of the first
  /// call for the list.
  template <class List, class CostsOfOne>
  const Costs& costs_of(const List& list, const CostsOfOne& costs_of_one) {
    Costs& costs = cost_cache_[&list];
    if (costs.first) return costs;
    std::vector<double> times, sizes;
    for (const auto& one : list) {
      const auto [time, size] = costs_of_one(one);
      times.push_back(time);
      sizes.push_back(size);
    }
    costs = {std::make_shared<const std::vector<double>>(std::move(times)),
             std::make_shared<const std::vector<double>>(std::move(sizes))};
    return costs;
  }

  template <class Seconds>
  void add_edge(size_t first, size_t second, std::string key, const Seconds& seconds) {
    CostTablePtr& table = table_cache_[std::move(key)];
    if (!table) {
      CostTable made{result_.problem.variables[first].size(), result_.problem.variables[second].size(), {}};
      made.seconds.reserve(made.rows * made.columns);
      for (size_t a = 0; a < made.rows; ++a) {
        for (size_t b = 0; b < made.columns; ++b) made.seconds.push_back(seconds(a, b));
      }
      table = std::make_shared<const CostTable>(std::move(made));
    }
    result_.problem.edges.push_back({first, second, table});
  }

  std::string users_key(const std::vector<Use>& uses) const {
    std::string key;
    for (const auto& [user, operand] : uses) {
      add_pointer(key, alternatives_[user].get());
      add_integer(key, static_cast<int64_t>(operand));
    }
    return key;
  }

  /// Returns the alternatives of result `k` of node `n`: the shardings in which the node makes it or some user needs it
  /// reduced. Each comes with no gradient if none arrives, else once for each sharding of its gradient, which has the
  /// same dimensions and is reduced or partial as some user produces it.
  ValueAlternatives value_alternatives(size_t n, size_t k, const std::vector<Use>& uses) {
    std::string key = users_key(uses);
    add_pointer(key, alternatives_[n].get());
    add_integer(key, static_cast<int64_t>(k));
    ValueAlternatives& cached = value_cache_[key];
    if (cached) return cached;
    std::set<ShardingId> found;
    bool arrives = false;
    for (const NodeAlternative& one : *alternatives_[n]) {
      found.insert(one.makes[k]);
      arrives = arrives || one.wants[k] >= 0;
    }
    return cached = with_gradients(std::move(found), uses, arrives);
  }

  ValueAlternatives state_alternatives(size_t s, const std::vector<Use>& uses) {
    const State& state = graph_.states[s];
    const auto& pinned = result_.pinned.states[s];
    std::string key = users_key(uses) + 's';
    add_entry_key(key, nodes_, state.entry, result_.pinned);
    ValueAlternatives& cached = value_cache_[key];
    if (cached) return cached;
    const bool arrives = nodes_.is_trained(state);
    if (!pinned) return cached = with_gradients({}, uses, arrives);
    std::vector<ValueAlternative> list;
    const ShardingId lies = reshards_.id({.dims = *pinned});
    add_gradients(lies, uses, arrives, list);
    return cached = std::make_shared<const std::vector<ValueAlternative>>(std::move(list));
  }

  ValueAlternatives with_gradients(std::set<ShardingId> found, const std::vector<Use>& uses, bool arrives) {
    for (const auto& [user, operand] : uses) {
      for (const NodeAlternative& one : *alternatives_[user]) {
        if (reshards_.sharding(one.needs[operand]).partial.empty()) found.insert(one.needs[operand]);
      }
    }
    std::vector<ValueAlternative> list;
    for (const ShardingId value : found) add_gradients(value, uses, arrives, list);
    return std::make_shared<const std::vector<ValueAlternative>>(std::move(list));
  }

  void add_gradients(ShardingId value, const std::vector<Use>& uses, bool arrives,
                     std::vector<ValueAlternative>& list) {
    if (!arrives) {
      list.push_back({value, -1});
      return;
    }
    const std::vector<Axes> dims = reshards_.sharding(value).dims;
    std::set<ShardingId> gradients{reshards_.id({.dims = dims})};
    for (const auto& [user, operand] : uses) {
      for (const NodeAlternative& one : *alternatives_[user]) {
        if (one.gives[operand] >= 0 && reshards_.sharding(one.gives[operand]).dims == dims) {
          gradients.insert(one.gives[operand]);
        }
      }
    }
    for (const ShardingId gradient : gradients) list.push_back({value, gradient});
  }

  const ForwardNodes& nodes_;
  const Graph& graph_;
  const Mesh& mesh_;
  const CostGraphOptions& options_;
  CostGraph result_;
  ReshardCosts& reshards_;
  std::vector<NodeAlternatives> alternatives_;  // per node
  std::unordered_map<std::string, ValueAlternatives> value_cache_;
  std::unordered_map<const void*, Costs> cost_cache_;
  std::unordered_map<std::string, CostTablePtr> table_cache_;
};

}  // namespace

CostGraph::CostGraph(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan pinned,
                     const PlanCosts& costs)
    : graph(&graph),
      rules(&rules),
      mesh(&mesh),
      pinned(std::move(pinned)),
      reshards(std::make_unique<ReshardCosts>(mesh, costs.links, costs.gradient_links.value_or(costs.links))),
      own_state(graph.values.size(), -1),
      variable_of_node(graph.nodes.size(), -1),
      variable_of_value(graph.values.size(), -1) {}

/// Returns the sharding that a value has for its users under `chosen`; none for an input or a state.
std::optional<Sharding> CostGraph::made(ValueId value, const std::vector<size_t>& chosen) const {
  if (const int variable = variable_of_value[value]; variable >= 0) {
    return sharding((*values[variable])[chosen[variable]].value);
  }
  const ValueInfo& info = graph->values[value];
  if (info.producer < 0) return std::nullopt;
  const int variable = variable_of_node[info.producer];
  return sharding((*nodes[variable])[chosen[variable]].makes[info.output]);
}

PartialPlan CostGraph::partial_plan(const std::vector<size_t>& chosen) const {
  PartialPlan partial = pinned;
  for (size_t v = 0; v < decisions.size(); ++v) {
    const auto& [kind, index] = decisions[v];
    cut_sums(v, chosen, partial);
    if (kind == Decision::Kind::node) {
      const NodeAlternative& alternative = (*nodes[v])[chosen[v]];
      partial.cuts[index] = alternative.cut;
      for (size_t i = 0; i < alternative.needs.size(); ++i) {
        const int own = own_state[graph->nodes[index].inputs[i]];
        if (own >= 0 && !partial.states[own]) partial.states[own] = sharding(alternative.needs[i]).dims;
      }
    } else if (kind == Decision::Kind::state) {
      partial.states[index] = sharding((*values[v])[chosen[v]].value).dims;
    } else {
      const ValueInfo& info = graph->values[index];
      const size_t maker = static_cast<size_t>(variable_of_node[info.producer]);
      const ShardingId made = (*nodes[maker])[chosen[maker]].makes[info.output];
      const ShardingId lies = (*values[v])[chosen[v]].value;
      if (lies != made) partial.results[static_cast<ValueId>(index)] = sharding(lies).dims;
    }
  }
  for (size_t v = 0; v < decisions.size(); ++v) {
    if (decisions[v].kind == Decision::Kind::node) keep_whole(v, chosen, partial);
  }
  return partial;
}

/// Sets the cuts in `partial` of the nodes that sum the gradients of the variable's value: as the chosen sharding of
/// the sum. Does nothing if there are none.
void CostGraph::cut_sums(size_t variable, const std::vector<size_t>& chosen, PartialPlan& partial) const {
  for (size_t n : sums[variable]) {
    const ShardingId gradient = (*values[variable])[chosen[variable]].gradient;
    if (gradient < 0) return;
    const ShardingRule& rule = (*rules)[n];
    partial.cuts[n] = suggest_cut(rule, {{&rule.outputs[0], sharding(gradient).dims}}, *mesh, /*expandable=*/false);
  }
}

/// Adds to `partial.results` the reduced shardings of operands that are partial sums and that the variable's node could
/// pass on, where its chosen alternative needs them reduced.
void CostGraph::keep_whole(size_t variable, const std::vector<size_t>& chosen, PartialPlan& partial) const {
  const Node& node = graph->nodes[decisions[variable].index];
  const NodeAlternative& alternative = (*nodes[variable])[chosen[variable]];
  std::vector<Sharding> given;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    given.push_back(made(node.inputs[i], chosen).value_or(sharding(alternative.needs[i])));
  }
  if (propagate_partial((*rules)[decisions[variable].index], alternative.cut, given).partial.empty()) return;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Sharding& need = sharding(alternative.needs[i]);
    if (!given[i].partial.empty() && need.partial.empty()) partial.results[node.inputs[i]] = need.dims;
  }
}

CostGraph make_cost_graph(const ForwardNodes& nodes, const Mesh& mesh, PartialPlan pinned,
                          const CostGraphOptions& options) {
  return CostGraphBuilder(nodes, mesh, std::move(pinned), options).run();
}

}  // namespace partita
