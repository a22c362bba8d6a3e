#include "compiler/search/node_price.h"

#include <algorithm>
#include <limits>

#include "compiler/plan/gradient_cuts.h"
#include "compiler/search/keys.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

using Dims = std::vector<Axes>;

double ceil_div(int64_t size, int64_t parts) { return static_cast<double>((size + parts - 1) / parts); }

using Step = PriceTrace::Step;

/// Returns the computation of one node on the rank with the largest parts.
Step computation_of(const Rules& rules, size_t n, const Graph& graph, const Cut& cut, const Mesh& mesh) {
  const ShardingRule& rule = rules[n];
  Step step{.points = rules.op(n).flops_per_point};
  for (size_t f = 0; f < cut.size(); ++f) {
    if (rule.factors[f].contributes_flops) step.points *= ceil_div(rule.factors[f].size, mesh.ways(cut[f]));
  }
  const Node& node = graph.nodes[n];
  const auto add = [&](const std::vector<ValueId>& values, const std::vector<TensorMap>& maps) {
    for (size_t i = 0; i < values.size(); ++i) {
      step.bytes += largest_part(graph.type(values[i]), dims_from_factors(rule, cut, maps[i]), mesh);
    }
  };
  add(node.inputs, rule.inputs);
  add(node.outputs, rule.outputs);
  return step;
}

double seconds_of_computation(const Step& step, const PlanCosts& costs) {
  return std::max(step.points * costs.flop_seconds, step.bytes * costs.byte_seconds) + costs.node_seconds;
}

double seconds_of_move(const Type& type, const std::vector<Sharding>& from, const Sharding& to,
                       ReshardCosts& reshards) {
  double least = std::numeric_limits<double>::infinity();
  for (const Sharding& sharding : from)
    least = std::min(least, reshards.between(reshards.type(type), reshards.id(sharding), reshards.id(to)));
  return least;
}

void add_sharding(std::string& key, const Sharding& sharding) {
  add_dims(key, sharding.dims);
  key += static_cast<char>(sharding.kind);
  add_axes(key, sharding.partial);
}

/// Returns a key of all that the steps of a price depend on, apart from the program.
std::string key_of(const Cut& cut, const std::vector<Sharding>& needs, const std::vector<Sharding>& wants,
                   const Mesh& mesh) {
  std::string key;
  add_integer(key, static_cast<int64_t>(mesh.axes().size()));
  for (const MeshAxis& axis : mesh.axes()) add_integer(key, axis.size);
  add_dims(key, cut);
  for (const auto* shardings : {&needs, &wants}) {
    add_integer(key, static_cast<int64_t>(shardings->size()));
    for (const Sharding& sharding : *shardings) add_sharding(key, sharding);
  }
  return key;
}

/// Returns the price that consists of these steps.
NodePrice price_of(const PriceTrace& trace, int copies, const PlanCosts& costs, ReshardCosts& reshards) {
  NodePrice price = trace.price;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    if (i == trace.own) price.seconds *= 1 + copies;
    const Step& step = trace.steps[i];
    price.seconds += step.type == nullptr ? seconds_of_computation(step, costs)
                                          : seconds_of_move(*step.type, step.from, step.to, reshards);
  }
  if (trace.own == trace.steps.size()) price.seconds *= 1 + copies;
  return price;
}

/// Walks the nodes of a program as the partitioner does and sums their costs.
class PriceWalk {
 public:
  /// Records the steps in `trace` unless it is null.
  PriceWalk(const PlanCosts& costs, const Mesh& mesh, ReshardCosts& reshards, PriceTrace* trace)
      : costs_(costs), mesh_(mesh), reshards_(reshards), trace_(trace) {}

  double seconds() const { return seconds_; }
  bool resolved(size_t slot) const { return slots_[slot].resolved; }
  size_t add_slot(const Sharding& sharding) {
    slots_.push_back({{sharding}});
    return slots_.size() - 1;
  }
  const Sharding& made(size_t slot) const { return slots_[slot].there.front(); }
  /// Lets all steps so far be made `times` times.
  void repeat(int times) {
    seconds_ *= times;
    if (trace_ != nullptr) trace_->own = trace_->steps.size();
  }

  /// Adds the cost of node `n` under `cut`, and of moving its operands to where it needs them. `slots`: the slot of
  /// each value of the program; sets those of the results.
  void run_node(const NodeProgram& program, size_t n, const Cut& cut, std::vector<size_t>& slots) {
    if (needs_expansion(program.rules()[n], cut)) return run_expansion(program, n, cut, slots);
    const Node& node = program.graph().nodes[n];
    const ShardingRule& rule = program.rules()[n];
    std::vector<Sharding> given;
    for (ValueId input : node.inputs) given.push_back(latest(slots[input]));
    const Sharding passed = propagate_partial(rule, cut, given);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Type& type = program.graph().type(node.inputs[i]);
      Sharding target = required_sharding(rule, cut, rule.inputs[i], type, mesh_);
      if (!given[i].partial.empty() && !passed.partial.empty()) {
        target.kind = passed.kind;
        target.partial = passed.partial;
      }
      bring(slots[node.inputs[i]], type, target);
    }
    Step step = computation_of(program.rules(), n, program.graph(), cut, mesh_);
    seconds_ += seconds_of_computation(step, costs_);
    if (trace_ != nullptr) trace_->steps.push_back(std::move(step));
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      slots[node.outputs[k]] = add_slot(result_sharding(rule, cut, passed, static_cast<int>(k)));
    }
  }

 private:
  struct Slot {
    std::vector<Sharding> there;  // as made, and as resharded
    bool resolved = false;        // whether a partial sum was reduced
  };

  const Sharding& latest(size_t slot) const {
    for (const Sharding& sharding : slots_[slot].there) {
      if (sharding.partial.empty()) return sharding;
    }
    return made(slot);
  }

  void bring(size_t slot, const Type& type, const Sharding& target) {
    std::vector<Sharding>& there = slots_[slot].there;
    if (std::ranges::find(there, target) != there.end()) return;
    seconds_ += seconds_of_move(type, there, target, reshards_);
    if (trace_ != nullptr) trace_->steps.push_back({.type = &type, .from = there, .to = target});
    if (target.partial.empty() && !there.front().partial.empty()) slots_[slot].resolved = true;
    there.push_back(target);
  }

  /// Adds the costs of the nodes in the expansion of node `n`, and sets the slots of its results. Operands keep the
  /// shardings that node `n` needs, other values those in which they are made.
  void run_expansion(const NodeProgram& program, size_t n, const Cut& cut, std::vector<size_t>& slots) {
    const Node& node = program.graph().nodes[n];
    const ShardingRule& whole = program.rules()[n];
    const NodeProgram& expansion = program.expansion(n);
    const Graph& graph = expansion.graph();
    std::vector<size_t> inner(graph.values.size());
    std::vector<std::optional<Dims>> wanted(graph.values.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId operand = expansion.operands()[i];
      inner[operand] = slots[node.inputs[i]];
      if (!wanted[operand]) wanted[operand] = dims_from_factors(whole, cut, whole.inputs[i]);
    }
    for (size_t m = 0; m < graph.nodes.size(); ++m) {
      const ShardingRule& rule = expansion.rules()[m];
      std::vector<Suggestion> operands;
      for (size_t i = 0; i < graph.nodes[m].inputs.size(); ++i) {
        const ValueId value = graph.nodes[m].inputs[i];
        operands.push_back({&rule.inputs[i], wanted[value] ? *wanted[value] : made(inner[value]).dims});
      }
      run_node(expansion, m, suggest_cut(rule, operands, mesh_, /*expandable=*/false), inner);
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) slots[node.outputs[k]] = inner[expansion.results()[k]];
  }

  const PlanCosts& costs_;
  const Mesh& mesh_;
  ReshardCosts& reshards_;
  PriceTrace* trace_;
  std::vector<Slot> slots_;
  double seconds_ = 0;
};

/// Returns a stand-in for the gradient of each operand of an op that has only a user-defined gradient: the first
/// gradient of a result that arrived if it has the type of the operand, else an empty Value.
std::vector<Value> gradients_of_users(const GradCall& call) {
  const auto arrived = std::ranges::find_if(call.d_outputs, [](const Value& d) { return bool(d); });
  std::vector<Value> given;
  for (const Value& operand : call.inputs) {
    const bool fits = arrived != call.d_outputs.end() && arrived->type() == operand.type();
    given.push_back(fits ? *arrived : Value());
  }
  return given;
}

}  // namespace

bool NodeGradients::any() const { return std::ranges::find(arriving, true) != arriving.end(); }

NodeProgram::NodeProgram(const Graph& graph, const Node& node, const OpSet& ops, const NodeGradients& gradients,
                         bool keeps_traces)
    : ops_(ops), copies_(gradients.copies), keeps_traces_(keeps_traces) {
  Builder builder(ops, "node");
  std::unordered_map<ValueId, Value> input_values;
  std::vector<Value> operands;
  for (ValueId input : node.inputs) {
    const auto [entry, fresh] = input_values.try_emplace(input);
    if (fresh) entry->second = builder.input(fmt::format("x{}", input_values.size()), graph.type(input));
    operands.push_back(entry->second);
    operands_.push_back(entry->second.id());
  }
  for (const Value& result : builder.apply_all(node.op, operands, node.attrs)) results_.push_back(result.id());
  arriving_.resize(results_.size(), -1);
  given_.resize(operands_.size(), -1);
  if (gradients.any()) add_gradients(builder, node, gradients);
  graph_ = builder.take();
  rules_ = std::make_unique<Rules>(graph_, ops);
  find_live();
}

void NodeProgram::add_gradients(Builder& builder, const Node& node, const NodeGradients& gradients) {
  GradCall call{{builder, node.attrs, {}}, {}, {}};
  for (ValueId operand : operands_) call.inputs.push_back(builder.value(operand));
  for (size_t k = 0; k < results_.size(); ++k) {
    call.outputs.push_back(builder.value(results_[k]));
    Value& arrives = call.d_outputs.emplace_back();
    if (!gradients.arriving[k]) continue;
    arrives = builder.input(fmt::format("d{}", k), call.outputs[k].type());
    arriving_[k] = arrives.id();
  }
  builder.phase = Phase::backward;
  builder.origin = builder.graph().nodes[0].name;
  const auto& grad = ops_.at(node.op).grad;
  const std::vector<Value> given = grad ? grad(call) : gradients_of_users(call);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] && gradients.wanted[i]) given_[i] = given[i].id();
  }
}

void NodeProgram::find_live() {
  live_.resize(graph_.nodes.size(), false);
  read_.resize(graph_.values.size(), false);
  std::vector<bool> needed(graph_.values.size(), false);
  for (ValueId value : given_) {
    if (value >= 0) needed[value] = true;
  }
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    const Node& node = graph_.nodes[n];
    live_[n] = n == 0 || any_marked(node.outputs, needed);
    if (!live_[n] || n == 0) continue;
    for (ValueId input : node.inputs) needed[input] = read_[input] = true;
  }
}

const NodeProgram& NodeProgram::expansion(size_t n) const {
  std::unique_ptr<NodeProgram>& cached = expansions_[n];
  if (cached) return *cached;
  const Node& node = graph_.nodes[n];
  cached.reset(new NodeProgram(ops_));
  Builder builder(ops_, "expansion");
  std::vector<Value> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    operands.push_back(builder.input(fmt::format("x{}", i), graph_.type(node.inputs[i])));
    cached->operands_.push_back(operands.back().id());
  }
  const std::vector<Type> outputs = graph_.types(node.outputs);
  for (const Value& result : ops_.at(node.op).expand({{builder, node.attrs, operands}, outputs})) {
    cached->results_.push_back(result.id());
  }
  cached->graph_ = builder.take();
  cached->rules_ = std::make_unique<Rules>(cached->graph_, ops_);
  return *cached;
}

Sharding required_sharding(const ShardingRule& rule, const Cut& cut, const TensorMap& map, const Type& type,
                           const Mesh& mesh) {
  Sharding need{.dims = dims_from_factors(rule, cut, map)};
  for (size_t d = 0; d < map.size(); ++d) {
    if (map[d].window && mesh.ways(need.dims[d]) > type.shape[d]) need.dims[d].clear();
  }
  return need;
}

namespace {

/// Prices the nodes of a program one after the other.
NodePrice walked_price(const NodeProgram& program, const Cut& cut, const std::vector<Sharding>& needs,
                       const std::vector<Sharding>& wants, const Mesh& mesh, PriceWalk walk) {
  const Graph& graph = program.graph();
  std::vector<size_t> slots(graph.values.size());
  for (size_t i = 0; i < needs.size(); ++i) slots[program.operands()[i]] = walk.add_slot(needs[i]);
  std::vector<Dims> dims(graph.values.size());
  const CutOrigin origin{0, cut};
  walk.run_node(program, 0, cut, slots);
  walk.repeat(1 + program.copies());
  NodePrice price;
  for (ValueId result : program.results()) price.makes.push_back(walk.made(slots[result]));
  for (size_t k = 0; k < wants.size(); ++k) {
    const ValueId arrives = program.arriving()[k];
    if (arrives < 0) continue;
    slots[arrives] = walk.add_slot(wants[k]);
    dims[arrives] = wants[k].dims;
  }
  for (size_t n = 1; n < graph.nodes.size(); ++n) {
    if (!program.is_live(n) || wants.empty()) continue;
    const ShardingRule& rule = program.rules()[n];
    const Cut own = suggest_cut(rule, gradient_suggestions(graph, program.rules(), n, origin, dims), mesh,
                                program.rules().expandable(n));
    walk.run_node(program, n, own, slots);
    for (ValueId output : graph.nodes[n].outputs) dims[output] = walk.made(slots[output]).dims;
  }
  price.seconds = walk.seconds();
  for (ValueId given : program.given()) {
    price.gives.emplace_back();
    if (given >= 0 && !wants.empty()) price.gives.back() = walk.made(slots[given]);
  }
  for (size_t k = 0; k < wants.size(); ++k) {
    const ValueId arrives = program.arriving()[k];
    if (arrives >= 0 && walk.resolved(slots[arrives])) price.takes_partial = false;
  }
  return price;
}

}  // namespace

NodePrice price_of(const NodeProgram& program, const Cut& cut, const std::vector<Sharding>& needs,
                   const std::vector<Sharding>& wants, const PlanCosts& costs, const Mesh& mesh,
                   ReshardCosts& reshards) {
  if (!program.keeps_traces())
    return walked_price(program, cut, needs, wants, mesh, PriceWalk(costs, mesh, reshards, nullptr));
  std::string key = key_of(cut, needs, wants, mesh);
  if (const PriceTrace* known = program.trace(key)) return price_of(*known, program.copies(), costs, reshards);
  PriceTrace trace;
  NodePrice price = walked_price(program, cut, needs, wants, mesh, PriceWalk(costs, mesh, reshards, &trace));
  trace.price = price;
  trace.price.seconds = 0;
  program.keep(std::move(key), std::move(trace));
  return price;
}

double seconds_of(const Rules& rules, size_t n, const Graph& graph, const Cut& cut, const PlanCosts& costs,
                  const Mesh& mesh) {
  return seconds_of_computation(computation_of(rules, n, graph, cut, mesh), costs);
}

double largest_part(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh) {
  double bytes = static_cast<double>(size_of(type.dtype));
  for (size_t d = 0; d < dims.size(); ++d) bytes *= ceil_div(type.shape[d], mesh.ways(dims[d]));
  return bytes;
}

}  // namespace partita
