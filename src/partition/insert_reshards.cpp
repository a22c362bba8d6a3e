#include "partition/insert_reshards.h"

#include <algorithm>

#include "graph/rules.h"
#include "lowering/expand_nodes.h"
#include "partition/used_names.h"
#include "sharding/propagate.h"
#include "sharding/reshard.h"

namespace partita {
namespace {

using Dims = std::vector<Axes>;

class ReshardInserter {
 public:
  ReshardInserter(const Expanded& expanded, const OpSet& ops, const Plan& plan, const ReshardOptions& options)
      : from_(expanded.graph),
        cuts_(expanded.cuts),
        results_(expanded.results),
        rules_(expanded.graph, ops),
        plan_(plan),
        options_(options),
        made_(from_.values.size(), -1),
        resharder_(plan.mesh) {
    result_.graph.name = from_.name;
    result_.mesh = plan.mesh;
    for (const ValueInfo& value : from_.values) names_.add(value.name);
    for (const Node& node : from_.nodes) names_.add(node.name);
  }

  ReshardedGraph run() {
    add_entries();
    for (size_t n = 0; n < from_.nodes.size(); ++n) add_node(n);
    for (size_t s = 0; s < from_.states.size(); ++s) {
      if (from_.states[s].exit < 0) continue;
      const Sharding& target = result_.shardings[result_.graph.states[s].entry];
      result_.graph.states[s].exit = reshard_to(made_[from_.states[s].exit], target, "store");
    }
    for (const Output& output : from_.outputs) {
      const auto wanted = plan_.outputs.find(output.name);
      const Sharding whole{.dims = wanted != plan_.outputs.end() ? wanted->second
                                                                 : result_.shardings[latest(output.value)].dims};
      result_.graph.outputs.push_back({output.name, reshard_to(made_[output.value], whole, "forward")});
    }
    return std::move(result_);
  }

 private:
  void add_entries() {
    size_t at = 0;
    for (const Input& input : from_.inputs) {
      result_.graph.inputs.push_back({add_entry(input.value, plan_.inputs[at++]), input.batch_dim});
    }
    for (const State& state : from_.states) {
      result_.graph.states.push_back(state);
      result_.graph.states.back().entry = add_entry(state.entry, plan_.inputs[at++]);
      result_.graph.states.back().exit = -1;
    }
  }

  ValueId add_entry(ValueId old, const Dims& dims) {
    return made_[old] = add_value(from_.values[old].name, from_.type(old), -1, 0, {.dims = dims});
  }

  ValueId add_value(const std::string& name, const Type& type, NodeId producer, int output, Sharding sharding) {
    const ValueId id = static_cast<ValueId>(result_.graph.values.size());
    result_.graph.values.push_back({type, name, producer, output});
    result_.shardings.push_back(std::move(sharding));
    return id;
  }

  void add_node(size_t n) {
    const Node& node = from_.nodes[n];
    const std::vector<Type> outputs = from_.types(node.outputs);
    const ShardingRule& rule = rules_[n];
    const Cut cut = cuts_[n] ? *cuts_[n] : cut_by_operands(node, rule);
    std::vector<Sharding> given;
    for (ValueId input : node.inputs) given.push_back(result_.shardings[latest(input)]);
    const Sharding passed = propagate_partial(rule, cut, given);
    Node copy = node;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Sharding target = operand_sharding(rule, cut, static_cast<int>(i));
      if (!given[i].partial.empty() && !passed.partial.empty()) {
        target.kind = passed.kind;
        target.partial = passed.partial;
      }
      copy.inputs[i] = reshard_to(made_[node.inputs[i]], target, node.phase == Phase::forward ? "forward" : "gradient");
    }
    const NodeId id = static_cast<NodeId>(result_.graph.nodes.size());
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      Sharding sharding = result_sharding(rule, cut, passed, static_cast<int>(k));
      copy.outputs[k] = made_[node.outputs[k]] =
          add_value(from_.values[node.outputs[k]].name, outputs[k], id, static_cast<int>(k), std::move(sharding));
    }
    const std::string reason = node.phase == Phase::forward ? "forward" : "gradient";
    result_.graph.nodes.push_back(std::move(copy));
    result_.cuts.push_back(cut);
    for (ValueId output : node.outputs) place(output, reason);
  }

  /// Moves a result to where the plan wants it before anything uses it.
  void place(ValueId old, const std::string& reason) {
    const Sharding now = result_.shardings[made_[old]];
    if (!options_.partial_sums && !now.partial.empty()) made_[old] = reshard_to(made_[old], {.dims = now.dims}, reason);
    const auto wanted = results_.find(old);
    if (wanted != results_.end()) made_[old] = reshard_to(made_[old], {.dims = wanted->second}, "forward");
  }

  /// The cut of a node that an expansion made, whose own expansion would come too late.
  Cut cut_by_operands(const Node& node, const ShardingRule& rule) const {
    std::vector<Suggestion> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      operands.push_back({&rule.inputs[i], result_.shardings[made_[node.inputs[i]]].dims});
    }
    return suggest_cut(rule, operands, plan_.mesh, /*expandable=*/false);
  }

  /// The latest materialisation: the value as it was made, or reduced when another node needed that. A value is not
  /// kept partial twice.
  ValueId latest(ValueId old) {
    const ValueId made = made_[old];
    for (ValueId version : versions_[made]) {
      const Sharding& sharding = result_.shardings[version];
      if (sharding.partial.empty() && sharding.halos.empty()) return version;
    }
    return made;
  }

  /// The value in another sharding, from whichever of the shardings that it is there in already is the nearest.
  ValueId reshard_to(ValueId value, const Sharding& wanted, const std::string& reason) {
    if (!wanted.halos.empty()) return with_halos(value, wanted, reason);
    const Sharding target = wanted;  // a copy: shardings move
    const Type type = result_.graph.type(value);
    std::vector<ValueId>& there = versions_[value];
    if (there.empty()) there.push_back(value);
    ValueId nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (ValueId version : there) {
      const Sharding& now = result_.shardings[version];
      if (now == target) return version;
      if (!now.halos.empty()) continue;
      if (!std::includes(now.partial.begin(), now.partial.end(), target.partial.begin(), target.partial.end()))
        continue;
      const double cost = resharder_.path(type, now, target).cost;
      if (cost < least) {
        least = cost;
        nearest = version;
      }
    }
    PARTITA_CHECK(nearest >= 0, "no way to {}", print(type, target, plan_.mesh));
    const std::vector<Move> moves = resharder_.path(type, result_.shardings[nearest], target).moves;
    for (const Move& move : moves) {
      nearest = add_reshard(nearest, move.result, reason);
      versions_[value].push_back(nearest);
    }
    return nearest;
  }

  /// Rows that its neighbours hold added to each shard.
  ValueId with_halos(ValueId value, const Sharding& wanted, const std::string& reason) {
    const Sharding target = wanted;
    for (ValueId version : versions_[value]) {
      if (result_.shardings[version] == target) return version;
    }
    Sharding stored = target;
    stored.halos.clear();
    for (size_t d = 0; d < target.dims.size(); ++d) {
      if (!target.halos[d]) continue;
      // Fewer rows than parts: every rank has all of them, and keeps what it needs.
      if (plan_.mesh.ways(target.dims[d]) > result_.graph.type(value).shape[d]) stored.dims[d].clear();
    }
    const ValueId from = reshard_to(value, stored, reason);
    const ValueId to = add_reshard(from, target, reason);
    versions_[value].push_back(to);
    return to;
  }

  ValueId add_reshard(ValueId value, const Sharding& result, const std::string& reason) {
    const ValueInfo source = result_.graph.values[value];
    Node node{.op = kReshard, .attrs = Attrs(ReshardAttrs{reason}), .inputs = {value}};
    const std::string name = names_.make(source.name, kReshard);
    node.name = name;
    if (source.producer >= 0) {
      const Node& producer = result_.graph.nodes[source.producer];
      node.scope = producer.scope;
      node.source = producer.source;
      node.phase = producer.phase;
    }
    const NodeId id = static_cast<NodeId>(result_.graph.nodes.size());
    node.outputs = {add_value(name, source.type, id, 0, result)};
    result_.graph.nodes.push_back(node);
    result_.cuts.emplace_back();
    return node.outputs[0];
  }

  const Graph& from_;
  const std::vector<std::optional<Cut>>& cuts_;
  const std::map<ValueId, Dims>& results_;
  const Rules rules_;
  const Plan& plan_;
  const ReshardOptions options_;
  ReshardedGraph result_;
  std::vector<ValueId> made_;                         // value of the graph -> value of the result, as produced
  std::map<ValueId, std::vector<ValueId>> versions_;  // of each value as produced: itself in other shardings
  Resharder resharder_;
  UsedNames names_;
};

}  // namespace

ReshardedGraph insert_reshards(const Graph& graph, const OpSet& ops, const Plan& plan, const ReshardOptions& options) {
  const Expanded expanded = expand_nodes(graph, ops, plan);
  return ReshardInserter(expanded, ops, plan, options).run();
}

}  // namespace partita
