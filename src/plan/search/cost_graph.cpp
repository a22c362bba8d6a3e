#include "plan/search/cost_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "plan/search/legal_cuts.h"
#include "sharding/propagate.h"

namespace partita {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

struct Use {
  size_t node;
  size_t operand;
};

using PartialSets = std::set<std::pair<Reduce, Axes>>;
using NodeAlternatives = std::shared_ptr<const std::vector<NodeAlternative>>;
using ValueAlternatives = std::shared_ptr<const std::vector<ValueAlternative>>;

void add_pointer(std::string& key, const void* pointer) {
  key.append(reinterpret_cast<const char*>(&pointer), sizeof(pointer));  // NOLINT: bytes of a key
}
void add_integer(std::string& key, int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));  // NOLINT: bytes of a key
}
void add_sets(std::string& key, const PartialSets& sets) {
  for (const auto& [kind, axes] : sets) {
    key += static_cast<char>(kind);
    for (int axis : axes) key += static_cast<char>(axis + 1);
    key += '\0';
  }
  key += '|';
}
void add_dims(std::string& key, const std::vector<Axes>& dims) {
  for (const Axes& axes : dims) {
    for (int axis : axes) key += static_cast<char>(axis + 1);
    key += '\0';
  }
  key += '|';
}

class CostGraphBuilder {
 public:
  CostGraphBuilder(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh, PartialPlan pinned,
                   const CostGraphOptions& options)
      : graph_(graph),
        rules_(rules),
        ops_(ops),
        mesh_(mesh),
        options_(options),
        result_(graph, rules, mesh, std::move(pinned), options.costs.links),
        reshards_(*result_.reshards),
        uses_(graph.values.size()),
        state_(graph.values.size(), -1),
        stored_(graph.values.size(), -1),
        input_(graph.values.size(), -1),
        partials_(graph.values.size()),
        gradient_partials_(graph.values.size()) {}

  CostGraph run() {
    index();
    find_gradients();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_forward(n)) add_forward(n);
    }
    alternatives_.resize(graph_.nodes.size());
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (is_forward(n)) add_backward(n);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (is_forward(n)) add_node_variable(n);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_forward(n)) continue;
      for (size_t k = 0; k < graph_.nodes[n].outputs.size(); ++k) add_value(n, k);
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      if (uses_[graph_.states[s].entry].size() > 1) add_state(s);
    }
    return std::move(result_);
  }

 private:
  /// What is made once for all nodes that are alike.
  struct NodeClass {
    std::unique_ptr<NodeProgram> program;
    std::vector<Cut> cuts;
  };
  /// A cut with operands that lie as given, and what it makes of them.
  struct Forward {
    const Cut* cut;
    std::vector<Sharding> needs, makes;
  };

  bool is_forward(size_t n) const { return graph_.nodes[n].phase == Phase::forward; }

  void index() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.phase == Phase::backward) trains_ = true;
      if (!node.recompute.empty() && !is_forward(n)) ++copies_[node.origin];
      if (!is_forward(n)) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) uses_[node.inputs[i]].push_back({n, i});
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) input_[graph_.inputs[i].value] = static_cast<int>(i);
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const State& state = graph_.states[s];
      state_[state.entry] = static_cast<int>(s);
      if (state.exit >= 0) stored_[state.exit] = static_cast<int>(s);
      if (!state.owner.empty()) ++optimizer_states_[state.owner];
    }
  }

  /// As autodiff does: which values depend on what is trained, and to which of them a gradient comes.
  void find_gradients() {
    classes_.resize(graph_.nodes.size());
    std::vector<bool> depends(graph_.values.size(), false), arrives(graph_.values.size(), false);
    for (const State& state : graph_.states) {
      if (trains_ && is_trained(state)) depends[state.entry] = true;
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!is_forward(n)) continue;
      const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return depends[v]; });
      for (ValueId output : node.outputs) depends[output] = any;
    }
    for (const Output& output : graph_.outputs) {
      if (output.name == "loss") arrives[output.value] = true;
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (!is_forward(n)) continue;
      const Node& node = graph_.nodes[n];
      NodeGradients gradients;
      for (ValueId output : node.outputs) gradients.arriving.push_back(arrives[output] && depends[output]);
      for (ValueId input : node.inputs) gradients.wanted.push_back(depends[input]);
      if (const auto copies = copies_.find(node.name); copies != copies_.end()) gradients.copies = copies->second;
      classes_[n] = class_of(n, gradients);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (classes_[n]->program->given()[i] >= 0) arrives[node.inputs[i]] = true;
      }
    }
  }

  bool is_trained(const State& state) const {
    return state.kind == StateKind::parameter && state.requires_grad && state.exit >= 0;
  }

  const NodeClass* class_of(size_t n, const NodeGradients& gradients) {
    const Node& node = graph_.nodes[n];
    std::string key;
    add_pointer(key, &rules_[n]);
    for (ValueId input : node.inputs) {
      add_integer(key, std::find(node.inputs.begin(), node.inputs.end(), input) - node.inputs.begin());
    }
    for (const auto* flags : {&gradients.arriving, &gradients.wanted}) {
      for (const bool flag : *flags) key += flag ? '1' : '0';
    }
    add_integer(key, gradients.copies);
    std::unique_ptr<NodeClass>& known = known_classes_[key];
    if (!known) {
      known = std::make_unique<NodeClass>();
      known->program = std::make_unique<NodeProgram>(graph_, node, ops_, gradients);
      known->cuts = legal_cuts(rules_[n], mesh_, {.expandable = rules_.expandable(n), .uneven = options_.uneven});
    }
    return known.get();
  }

  std::vector<const Cut*> cuts_of(size_t n) const {
    if (const auto& pinned = result_.pinned.cuts[n]) return {&*pinned};
    std::vector<const Cut*> cuts;
    for (const Cut& cut : classes_[n]->cuts) cuts.push_back(&cut);
    return cuts;
  }

  /// The node apart from what is special about its place.
  std::string place_of(size_t n) const {
    std::string key;
    add_pointer(key, classes_[n]);
    const Node& node = graph_.nodes[n];
    add_pointer(key, result_.pinned.cuts[n] ? &*result_.pinned.cuts[n] : nullptr);
    for (ValueId input : node.inputs) add_sets(key, partials_[input]);
    for (ValueId output : node.outputs) {
      const auto placed = result_.pinned.results.find(output);
      if (placed != result_.pinned.results.end()) add_dims(key, placed->second);
      key += '.';
    }
    return key;
  }

  /// The cuts of a node, each with every set of operands that may arrive as partial sums and pass through it.
  void add_forward(size_t n) {
    const std::string key = place_of(n);
    auto& known = known_forwards_[key];
    if (!known) known = std::make_shared<const std::vector<Forward>>(forwards_of(n));
    forwards_.resize(graph_.nodes.size());
    forwards_[n] = known;
    const Node& node = graph_.nodes[n];
    for (const Forward& forward : *known) {
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
      const std::vector<Sharding> whole = needs_of(rule, *cut);
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
    const NodePrice price = price_of(*classes_[n]->program, cut, needs, /*wants=*/{}, options_.costs, mesh_, reshards_);
    Forward forward{&cut, std::move(needs), price.makes};
    for (size_t k = 0; k < forward.makes.size(); ++k) {
      const auto placed = result_.pinned.results.find(graph_.nodes[n].outputs[k]);
      if (placed != result_.pinned.results.end()) forward.makes[k] = {.dims = placed->second};
    }
    return forward;
  }

  /// Alternatives with gradients: those that arrive whole, and as partial sums that pass through the gradient nodes.
  void add_backward(size_t n) {
    const Node& node = graph_.nodes[n];
    std::string key = place_of(n);
    for (ValueId output : node.outputs) add_sets(key, gradient_partials_[output]);
    for (ValueId input : node.inputs) add_state_key(key, input);
    for (ValueId output : node.outputs) key += stored_[output] >= 0 ? 's' : '-';
    NodeAlternatives& known = known_alternatives_[key];
    if (!known) known = std::make_shared<const std::vector<NodeAlternative>>(alternatives_of(n));
    alternatives_[n] = known;
    for (const NodeAlternative& alternative : *known) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (alternative.gives[i] < 0) continue;
        const Sharding& given = reshards_.sharding(alternative.gives[i]);
        if (!given.partial.empty()) gradient_partials_[node.inputs[i]].emplace(given.kind, given.partial);
      }
    }
  }

  /// All about a value at entry that the price of its user depends on.
  void add_state_key(std::string& key, ValueId value) const {
    key += uses_[value].size() > 1 ? 'm' : 's';
    if (input_[value] >= 0) {
      key += 'i';
      add_dims(key, result_.pinned.inputs[input_[value]]);
    }
    if (state_[value] < 0) return;
    const State& state = graph_.states[state_[value]];
    add_integer(key, static_cast<int64_t>(state.kind));
    add_integer(key, optimizer_states(value));
    if (const auto& pinned = result_.pinned.states[state_[value]]) add_dims(key, *pinned);
  }

  int64_t optimizer_states(ValueId value) const {
    const auto found = optimizer_states_.find(graph_.values[value].name);
    return found == optimizer_states_.end() ? 0 : found->second;
  }

  std::vector<NodeAlternative> alternatives_of(size_t n) {
    const NodeProgram& program = *classes_[n]->program;
    const Node& node = graph_.nodes[n];
    std::vector<size_t> arriving;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (program.arriving()[k] >= 0) arriving.push_back(k);
    }
    std::vector<NodeAlternative> found;
    for (const Forward& forward : *forwards_[n]) {
      std::vector<Sharding> wants;
      for (const Sharding& made : forward.makes) wants.push_back({.dims = made.dims});
      add_alternative(n, forward, wants, found);
      if (arriving.size() != 1) continue;
      for (const auto& [kind, axes] : gradient_partials_[node.outputs[arriving[0]]]) {
        Sharding& want = wants[arriving[0]];
        if (std::any_of(want.dims.begin(), want.dims.end(), [&](const Axes& cut) {
              return std::any_of(cut.begin(), cut.end(),
                                 [&](int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); });
            })) {
          continue;
        }
        want.kind = kind;
        want.partial = axes;
        add_alternative(n, forward, wants, found);
      }
    }
    return found;
  }

  void add_alternative(size_t n, const Forward& forward, const std::vector<Sharding>& wants,
                       std::vector<NodeAlternative>& found) {
    const NodeProgram& program = *classes_[n]->program;
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
        alternative.bytes += largest_part(type, reshards_.sharding(makes).dims, mesh_);
      }
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) add_entry_costs(n, i, alternative);
    found.push_back(std::move(alternative));
  }

  /// What an operand costs that is an input, or a state that nobody else uses.
  void add_entry_costs(size_t n, size_t operand, NodeAlternative& alternative) {
    const ValueId value = graph_.nodes[n].inputs[operand];
    const Type& type = graph_.type(value);
    const TypeId type_id = reshards_.type(type);
    const ShardingId need = alternative.needs[operand];
    const NodeProgram& program = *classes_[n]->program;
    const bool kept = program.reads(program.operands()[operand]);
    if (input_[value] >= 0) {
      const ShardingId lies = reshards_.id({.dims = result_.pinned.inputs[input_[value]]});
      alternative.seconds += reshards_.between(type_id, lies, need);
    } else if (state_[value] < 0 && kept && uses_[value].size() == 1) {
      alternative.bytes += largest_part(type, reshards_.sharding(need).dims, mesh_);
    }
    if (state_[value] < 0 || uses_[value].size() > 1) return;
    const auto& pinned = result_.pinned.states[state_[value]];
    const Sharding lies{.dims = pinned ? *pinned : reshards_.sharding(need).dims};
    const ShardingId id = reshards_.id(lies);
    alternative.seconds += reshards_.between(type_id, id, need);
    if (alternative.gives[operand] >= 0) {
      alternative.seconds += options_.costs.gradient_part * reshards_.between(type_id, alternative.gives[operand], id);
    }
    const auto [seconds, bytes] = state_costs(state_[value], lies);
    alternative.seconds += seconds;
    alternative.bytes += bytes;
    for (size_t k = 0; k < graph_.nodes[n].outputs.size(); ++k) {
      if (stored_[graph_.nodes[n].outputs[k]] == state_[value]) {
        alternative.seconds += reshards_.between(type_id, alternative.makes[k], id);
      }
    }
  }

  /// Of the update of a state, and what it takes with its gradient and what the optimizer keeps for it.
  std::pair<double, double> state_costs(size_t s, const Sharding& lies) const {
    const State& state = graph_.states[s];
    const double part = largest_part(graph_.type(state.entry), lies.dims, mesh_);
    if (!trains_ || !is_trained(state)) return {0, part};
    const double kept = static_cast<double>(optimizer_states(state.entry));
    return {part * (3 + 2 * kept) * options_.costs.byte_seconds + options_.costs.node_seconds, part * (2 + kept)};
  }

  // Variables.

  size_t add_variable(Decision decision, std::shared_ptr<const std::vector<double>> seconds,
                      std::shared_ptr<const std::vector<double>> bytes) {
    result_.problem.variables.push_back({std::move(seconds), std::move(bytes)});
    result_.decisions.push_back(decision);
    result_.nodes.emplace_back();
    result_.values.emplace_back();
    return result_.decisions.size() - 1;
  }

  void add_node_variable(size_t n) {
    auto& [seconds, bytes] = known_costs_[alternatives_[n].get()];
    if (!seconds) {
      std::vector<double> times, sizes;
      for (const NodeAlternative& alternative : *alternatives_[n]) {
        times.push_back(alternative.seconds);
        sizes.push_back(alternative.bytes);
      }
      seconds = std::make_shared<const std::vector<double>>(std::move(times));
      bytes = std::make_shared<const std::vector<double>>(std::move(sizes));
    }
    const size_t variable = add_variable({Decision::Kind::node, n}, seconds, bytes);
    result_.nodes[variable] = alternatives_[n];
    result_.variable_of_node[n] = static_cast<int>(variable);
  }

  void add_value(size_t n, size_t k) {
    const ValueId value = graph_.nodes[n].outputs[k];
    const std::vector<Use>& uses = uses_[value];
    const size_t producer = static_cast<size_t>(result_.variable_of_node[n]);
    if (uses.empty()) return;
    const TypeId type = reshards_.type(graph_.type(value));
    if (uses.size() == 1) {
      const auto [user, operand] = uses[0];
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
    const auto& uses = uses_[value];
    add_shared({Decision::Kind::state, s}, value, state_alternatives(s, uses), uses);
  }

  /// A variable for a value of several users, and what it costs to bring it to each.
  size_t add_shared(Decision decision, ValueId value, ValueAlternatives list, const std::vector<Use>& uses) {
    const TypeId type = reshards_.type(graph_.type(value));
    const bool is_state = decision.kind == Decision::Kind::state;
    auto& [seconds, bytes] = known_costs_[list.get()];
    if (!seconds) {
      std::vector<double> times, sizes;
      for (const ValueAlternative& one : *list) {
        const auto [time, size] = shared_costs(decision, value, one, uses);
        times.push_back(time);
        sizes.push_back(size);
      }
      seconds = std::make_shared<const std::vector<double>>(std::move(times));
      bytes = std::make_shared<const std::vector<double>>(std::move(sizes));
    }
    const size_t shared = add_variable(decision, seconds, bytes);
    result_.values[shared] = list;
    if (!is_state) result_.variable_of_value[value] = static_cast<int>(shared);
    for (const auto& [user, operand] : uses) {
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
      const NodeProgram& program = *classes_[user]->program;
      gradients += program.given()[operand] >= 0;
      kept = kept || program.reads(program.operands()[operand]);
    }
    if (one.gradient >= 0 && gradients > 1) {
      const double part = largest_part(type, reshards_.sharding(one.gradient).dims, mesh_);
      seconds +=
          static_cast<double>(gradients - 1) * (3 * part * options_.costs.byte_seconds + options_.costs.node_seconds);
    }
    if (decision.kind == Decision::Kind::state) {
      const auto [update, size] = state_costs(decision.index, lies);
      seconds += update;
      bytes += size;
      if (one.gradient >= 0) {
        const ShardingId whole = reshards_.id({.dims = lies.dims});
        seconds += options_.costs.gradient_part * reshards_.between(reshards_.type(type), one.gradient, whole);
      }
    } else if (kept) {
      bytes += largest_part(type, lies.dims, mesh_);
    }
    return {seconds, bytes};
  }

  /// From a value and to its gradient. Partial sums are passed on as they are, or reduced.
  double pair_seconds(TypeId type, const ValueAlternative& from, const ValueAlternative& to) {
    double sum = passed_seconds(type, from.value, to.value);
    if (from.gradient >= 0 && to.gradient >= 0) sum += passed_seconds(type, to.gradient, from.gradient);
    return sum;
  }

  double passed_seconds(TypeId type, ShardingId from, ShardingId to) {
    if (from == to) return 0;
    if (!reshards_.sharding(to).partial.empty()) return kForbidden;
    return reshards_.between(type, from, to);
  }

  template <class Seconds>
  void add_edge(size_t first, size_t second, std::string key, const Seconds& seconds) {
    CostTablePtr& table = known_tables_[std::move(key)];
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

  static std::string table_key(const void* first, size_t result, const void* second, size_t operand, TypeId type) {
    std::string key;
    add_pointer(key, first);
    add_integer(key, static_cast<int64_t>(result));
    add_pointer(key, second);
    add_integer(key, static_cast<int64_t>(operand));
    add_integer(key, type);
    return key;
  }

  std::string users_key(const std::vector<Use>& uses) const {
    std::string key;
    for (const auto& [user, operand] : uses) {
      add_pointer(key, alternatives_[user].get());
      add_integer(key, static_cast<int64_t>(operand));
    }
    return key;
  }

  /// As the node makes it or some user needs it; its gradient in the same dimensions, whole or partial as some user
  /// gives it.
  ValueAlternatives value_alternatives(size_t n, size_t k, const std::vector<Use>& uses) {
    std::string key = users_key(uses);
    add_pointer(key, alternatives_[n].get());
    add_integer(key, static_cast<int64_t>(k));
    ValueAlternatives& known = known_values_[key];
    if (known) return known;
    std::set<ShardingId> found;
    bool arrives = false;
    for (const NodeAlternative& one : *alternatives_[n]) {
      found.insert(one.makes[k]);
      arrives = arrives || one.wants[k] >= 0;
    }
    return known = with_gradients(std::move(found), uses, arrives);
  }

  ValueAlternatives state_alternatives(size_t s, const std::vector<Use>& uses) {
    const State& state = graph_.states[s];
    const auto& pinned = result_.pinned.states[s];
    std::string key = users_key(uses) + 's';
    add_state_key(key, state.entry);
    ValueAlternatives& known = known_values_[key];
    if (known) return known;
    const bool arrives = trains_ && is_trained(state);
    if (!pinned) return known = with_gradients({}, uses, arrives);
    std::vector<ValueAlternative> list;
    const ShardingId lies = reshards_.id({.dims = *pinned});
    add_gradients(lies, uses, arrives, list);
    return known = std::make_shared<const std::vector<ValueAlternative>>(std::move(list));
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

  using Costs = std::pair<std::shared_ptr<const std::vector<double>>, std::shared_ptr<const std::vector<double>>>;

  const Graph& graph_;
  const Rules& rules_;
  const OpSet& ops_;
  const Mesh& mesh_;
  const CostGraphOptions& options_;
  CostGraph result_;
  ReshardCosts& reshards_;
  bool trains_ = false;
  std::vector<std::vector<Use>> uses_;       // per value, by forward nodes
  std::vector<int> state_, stored_, input_;  // per value: the state at entry, at exit, the input, or -1
  std::unordered_map<std::string, int> copies_;
  std::unordered_map<std::string, int64_t> optimizer_states_;
  std::vector<PartialSets> partials_, gradient_partials_;  // per value: what it may be partial over
  std::unordered_map<std::string, std::unique_ptr<NodeClass>> known_classes_;
  std::vector<const NodeClass*> classes_;  // per node
  std::unordered_map<std::string, std::shared_ptr<const std::vector<Forward>>> known_forwards_;
  std::vector<std::shared_ptr<const std::vector<Forward>>> forwards_;  // per node
  std::unordered_map<std::string, NodeAlternatives> known_alternatives_;
  std::vector<NodeAlternatives> alternatives_;  // per node
  std::unordered_map<std::string, ValueAlternatives> known_values_;
  std::unordered_map<const void*, Costs> known_costs_;
  std::unordered_map<std::string, CostTablePtr> known_tables_;
};

}  // namespace

CostGraph::CostGraph(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan pinned,
                     const LinkCosts& links)
    : graph(&graph),
      rules(&rules),
      mesh(&mesh),
      pinned(std::move(pinned)),
      reshards(std::make_unique<ReshardCosts>(mesh, links)),
      variable_of_node(graph.nodes.size(), -1),
      variable_of_value(graph.values.size(), -1) {}

/// How a value lies for those who use it.
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
    if (kind == Decision::Kind::node) {
      partial.cuts[index] = (*nodes[v])[chosen[v]].cut;
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

/// A sum that would pass through a node is reduced before it where that was found to cost less.
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

CostGraph make_cost_graph(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                          PartialPlan pinned, const CostGraphOptions& options) {
  return CostGraphBuilder(graph, rules, ops, mesh, std::move(pinned), options).run();
}

}  // namespace partita
