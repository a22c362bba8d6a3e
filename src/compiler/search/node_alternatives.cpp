#include "compiler/search/node_alternatives.h"

#include <algorithm>

#include "compiler/search/keys.h"
#include "compiler/search/legal_cuts.h"
#include "ir/sharding/axes.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

using PartialSets = std::set<std::pair<Reduce, Axes>>;

void add_sets(std::string& key, const PartialSets& sets) {
  for (const auto& [kind, axes] : sets) {
    key += static_cast<char>(kind);
    add_axes(key, axes);
  }
  key += '|';
}

class AlternativesMaker {
 public:
  AlternativesMaker(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                    const CostGraphOptions& options, ReshardCosts& reshards)
      : nodes_(nodes),
        graph_(nodes.graph()),
        rules_(nodes.rules()),
        mesh_(mesh),
        pinned_(pinned),
        options_(options),
        reshards_(reshards),
        partials_(graph_.values.size()),
        gradient_partials_(graph_.values.size()),
        forwards_(graph_.nodes.size()),
        alternatives_(graph_.nodes.size()) {}

  /// Returns the alternatives of each forward node, null for others. Two passes determine which unreduced sums may
  /// arrive at a node: values forwards, gradients backwards.
  std::vector<NodeAlternatives> run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (nodes_.is_forward(n)) add_forward(n);
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (nodes_.is_forward(n)) add_backward(n);
    }
    return std::move(alternatives_);
  }

 private:
  /// A cut with given shardings of the operands.
  struct Forward {
    const Cut* cut;
    std::vector<Sharding> needs;
    std::vector<Sharding> made, makes;  // as the node makes it; with results that are pinned elsewhere
  };

  const std::vector<Cut>& legal_of(size_t n) {
    std::vector<Cut>& cuts = legal_[&rules_[n]];
    if (cuts.empty()) {
      cuts = legal_cuts(rules_[n], mesh_, {.expandable = rules_.expandable(n), .uneven = options_.uneven});
    }
    return cuts;
  }

  std::vector<const Cut*> cuts_of(size_t n) {
    if (const auto& pinned = pinned_.cuts[n]) return {&*pinned};
    std::vector<const Cut*> cuts;
    const bool limited = !options_.candidates.empty() && !options_.candidates[n].empty();
    for (const Cut& cut : limited ? options_.candidates[n] : legal_of(n)) cuts.push_back(&cut);
    return cuts;
  }

  /// Returns a key that nodes share if their cuts and the shardings of their operands are alike: of the node's program,
  /// pins and candidates, and of the partial sums that may arrive.
  std::string place_of(size_t n) const {
    std::string key;
    add_pointer(key, &nodes_.program(n));
    const Node& node = graph_.nodes[n];
    add_pointer(key, pinned_.cuts[n] ? &*pinned_.cuts[n] : nullptr);
    if (!options_.candidates.empty()) {
      for (const Cut& cut : options_.candidates[n]) add_dims(key, cut);
    }
    for (ValueId input : node.inputs) add_sets(key, partials_[input]);
    for (ValueId output : node.outputs) {
      const auto placed = pinned_.results.find(output);
      if (placed != pinned_.results.end()) add_dims(key, placed->second);
      key += '.';
    }
    return key;
  }

  /// Sets `forwards_[n]`: the cuts of node `n`, each also with every set of operands that may arrive as partial sums
  /// and pass through it. Adds the partial sums that its results may be to `partials_`.
  void add_forward(size_t n) {
    const std::string key = place_of(n);
    auto& cached = forward_cache_[key];
    if (!cached) cached = std::make_shared<const std::vector<Forward>>(forwards_of(n));
    forwards_.resize(graph_.nodes.size());
    forwards_[n] = cached;
    const Node& node = graph_.nodes[n];
    for (const Forward& forward : *cached) {
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        const Sharding& made = forward.makes[k];
        if (!made.partial.empty()) partials_[node.outputs[k]].emplace(made.kind, made.partial);
      }
    }
  }

  std::vector<Forward> forwards_of(size_t n) {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    std::vector<Forward> found;
    for (const Cut* cut : cuts_of(n)) {
      std::vector<Sharding> whole;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        whole.push_back(required_sharding(rule, *cut, rule.inputs[i], graph_.type(node.inputs[i]), mesh_));
      }
      found.push_back(forward_of(n, *cut, whole));
      if (needs_expansion(rule, *cut)) continue;
      for (const Linear& linear : rule.linear) {
        for (const auto& [kind, axes] : common_partials(node, linear)) {
          std::vector<Sharding> needs = whole;
          for (int operand : linear.operands) {
            needs[operand].kind = kind;
            needs[operand].partial = axes;
          }
          if (propagate_partial(rule, *cut, needs).partial.empty()) continue;
          found.push_back(forward_of(n, *cut, std::move(needs)));
        }
      }
    }
    return found;
  }

  PartialSets common_partials(const Node& node, const Linear& linear) const {
    PartialSets common = partials_[node.inputs[linear.operands.at(0)]];
    for (int operand : linear.operands) {
      std::erase_if(common, [&](const auto& set) { return !partials_[node.inputs[operand]].contains(set); });
    }
    return common;
  }

  Forward forward_of(size_t n, const Cut& cut, std::vector<Sharding> needs) {
    const NodePrice price = price_of(nodes_.program(n), cut, needs, /*wants=*/{}, options_.costs, mesh_, reshards_);
    Forward forward{&cut, std::move(needs), price.makes, price.makes};
    for (size_t k = 0; k < forward.makes.size(); ++k) {
      const auto placed = pinned_.results.find(graph_.nodes[n].outputs[k]);
      if (placed != pinned_.results.end()) forward.makes[k] = {.dims = placed->second};
    }
    return forward;
  }

  /// Sets `alternatives_[n]`: each cut of node `n` with gradients that arrive reduced, and with a partial sum that
  /// passes through the gradient nodes. Adds the partial sums that gradients of its operands may be to
  /// `gradient_partials_`.
  void add_backward(size_t n) {
    const Node& node = graph_.nodes[n];
    std::string key = place_of(n);
    for (ValueId output : node.outputs) add_sets(key, gradient_partials_[output]);
    for (ValueId input : node.inputs) add_entry_key(key, nodes_, input, pinned_);
    for (ValueId output : node.outputs) key += nodes_.stored(output) >= 0 ? 's' : '-';
    NodeAlternatives& cached = alternative_cache_[key];
    if (!cached) cached = std::make_shared<const std::vector<NodeAlternative>>(alternatives_of(n));
    alternatives_[n] = cached;
    for (const NodeAlternative& alternative : *cached) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (alternative.gives[i] < 0) continue;
        const Sharding& given = reshards_.sharding(alternative.gives[i]);
        if (!given.partial.empty()) gradient_partials_[node.inputs[i]].emplace(given.kind, given.partial);
      }
    }
  }

  std::vector<NodeAlternative> alternatives_of(size_t n) {
    const NodeProgram& program = nodes_.program(n);
    const Node& node = graph_.nodes[n];
    std::vector<size_t> arriving;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (program.arriving()[k] >= 0) arriving.push_back(k);
    }
    std::vector<NodeAlternative> found;
    for (const Forward& forward : *forwards_[n]) {
      std::vector<Sharding> wants;
      for (const Sharding& made : forward.made) wants.push_back({.dims = made.dims});
      add_alternative(n, forward, wants, found);
      if (arriving.size() != 1) continue;
      for (const auto& [kind, axes] : gradient_partials_[node.outputs[arriving[0]]]) {
        Sharding& want = wants[arriving[0]];
        Axes cutting;
        for (const Axes& cut : want.dims) append(cutting, cut);
        if (any_of(cutting, axes)) continue;
        want.kind = kind;
        want.partial = axes;
        add_alternative(n, forward, wants, found);
      }
    }
    return found;
  }

  void add_alternative(size_t n, const Forward& forward, const std::vector<Sharding>& wants,
                       std::vector<NodeAlternative>& found) {
    const NodeProgram& program = nodes_.program(n);
    const Node& node = graph_.nodes[n];
    const NodePrice price = price_of(program, *forward.cut, forward.needs, wants, options_.costs, mesh_, reshards_);
    if (!price.takes_partial) return;
    NodeAlternative alternative{.cut = *forward.cut, .needs = {}, .gives = {}, .makes = {}, .wants = {}};
    alternative.seconds = price.seconds;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      alternative.needs.push_back(reshards_.id(forward.needs[i]));
      alternative.gives.push_back(price.gives[i] ? reshards_.id(*price.gives[i]) : -1);
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const ShardingId makes = reshards_.id(forward.makes[k]);
      alternative.makes.push_back(makes);
      alternative.wants.push_back(program.arriving()[k] >= 0 ? reshards_.id(wants[k]) : -1);
      const Type& type = graph_.type(node.outputs[k]);
      alternative.seconds += reshards_.between(reshards_.type(type), reshards_.id(price.makes[k]), makes);
      if (program.reads(program.results()[k])) {
        alternative.bytes += options_.costs.kept_share * largest_part(type, reshards_.sharding(makes).dims, mesh_);
      }
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) add_entry_costs(n, i, alternative);
    found.push_back(std::move(alternative));
  }

  /// Adds to `alternative` the costs of an operand of node `n` that is an input, or a state that no other node uses
  /// (with those of storing it, if the node makes its new value). Of another value that only this node uses, adds its
  /// bytes if the backward pass reads it.
  void add_entry_costs(size_t n, size_t operand, NodeAlternative& alternative) {
    const ValueId value = graph_.nodes[n].inputs[operand];
    const Type& type = graph_.type(value);
    const TypeId type_id = reshards_.type(type);
    const ShardingId need = alternative.needs[operand];
    const NodeProgram& program = nodes_.program(n);
    const bool kept = program.reads(program.operands()[operand]);
    if (nodes_.input(value) >= 0) {
      const ShardingId lies = reshards_.id({.dims = pinned_.inputs[nodes_.input(value)]});
      alternative.seconds += reshards_.between(type_id, lies, need);
    } else if (nodes_.state(value) < 0 && kept && nodes_.uses(value).size() == 1) {
      alternative.bytes += options_.costs.kept_share * largest_part(type, reshards_.sharding(need).dims, mesh_);
    }
    if (nodes_.state(value) < 0 || nodes_.uses(value).size() > 1) return;
    const auto& pinned = pinned_.states[nodes_.state(value)];
    const Sharding lies{.dims = pinned ? *pinned : reshards_.sharding(need).dims};
    const ShardingId id = reshards_.id(lies);
    alternative.seconds += reshards_.between(type_id, id, need);
    if (alternative.gives[operand] >= 0) {
      alternative.seconds += reshards_.of_gradient(type_id, alternative.gives[operand], id);
    }
    const StateCosts state =
        state_costs(nodes_, static_cast<size_t>(nodes_.state(value)), lies.dims, options_.costs, mesh_);
    alternative.seconds += state.seconds;
    alternative.bytes += state.bytes;
    for (size_t k = 0; k < graph_.nodes[n].outputs.size(); ++k) {
      if (nodes_.stored(graph_.nodes[n].outputs[k]) == nodes_.state(value)) {
        alternative.seconds += reshards_.between(type_id, alternative.makes[k], id);
      }
    }
  }

  const ForwardNodes& nodes_;
  const Graph& graph_;
  const Rules& rules_;
  const Mesh& mesh_;
  const PartialPlan& pinned_;
  const CostGraphOptions& options_;
  ReshardCosts& reshards_;
  std::unordered_map<const ShardingRule*, std::vector<Cut>> legal_;
  std::vector<PartialSets> partials_, gradient_partials_;  // per value: what it may be partial over
  std::unordered_map<std::string, std::shared_ptr<const std::vector<Forward>>> forward_cache_;
  std::vector<std::shared_ptr<const std::vector<Forward>>> forwards_;  // per node
  std::unordered_map<std::string, NodeAlternatives> alternative_cache_;
  std::vector<NodeAlternatives> alternatives_;  // per node
};

}  // namespace

std::vector<NodeAlternatives> node_alternatives(const ForwardNodes& nodes, const Mesh& mesh, const PartialPlan& pinned,
                                                const CostGraphOptions& options, ReshardCosts& reshards) {
  return AlternativesMaker(nodes, mesh, pinned, options, reshards).run();
}

StateCosts state_costs(const ForwardNodes& nodes, size_t s, const std::vector<Axes>& dims, const PlanCosts& costs,
                       const Mesh& mesh) {
  const State& state = nodes.graph().states[s];
  const double part = largest_part(nodes.graph().type(state.entry), dims, mesh);
  if (!nodes.is_trained(state)) return {0, part};
  const double kept = static_cast<double>(nodes.optimizer_states(state));
  return {part * (3 + 2 * kept) * costs.byte_seconds * costs.state_share + costs.node_seconds, part * (2 + kept)};
}

void add_entry_key(std::string& key, const ForwardNodes& nodes, ValueId value, const PartialPlan& pinned) {
  key += nodes.uses(value).size() > 1 ? 'm' : 's';
  if (const int input = nodes.input(value); input >= 0) {
    key += 'i';
    add_dims(key, pinned.inputs[input]);
  }
  if (nodes.state(value) < 0) return;
  const State& state = nodes.graph().states[nodes.state(value)];
  key += nodes.is_trained(state) ? 't' : 'k';
  add_integer(key, nodes.optimizer_states(state));
  if (const auto& lies = pinned.states[nodes.state(value)]) add_dims(key, *lies);
}

}  // namespace partita
