#include "partition/partition.h"

#include <algorithm>
#include <set>

#include "partition/collectives.h"
#include "partition/expand_nodes.h"
#include "partition/node_shardings.h"
#include "plan/propagate.h"

namespace partita {
namespace {

using Dims = std::vector<Axes>;

bool is_prefix(const Axes& prefix, const Axes& axes) {
  return prefix.size() <= axes.size() && std::equal(prefix.begin(), prefix.end(), axes.begin());
}

class Partitioner {
 public:
  Partitioner(const Expanded& expanded, const OpSet& ops, const Plan& plan)
      : from_(expanded.graph), cuts_(expanded.cuts), ops_(ops), plan_(plan), made_(from_.values.size(), -1) {
    local_.graph.name = from_.name;
    local_.mesh = plan.mesh;
    for (const ValueInfo& value : from_.values) names_.insert(value.name);
    for (const Node& node : from_.nodes) names_.insert(node.name);
  }

  LocalGraph run() {
    add_entries();
    for (size_t n = 0; n < from_.nodes.size(); ++n) add_node(n);
    for (size_t s = 0; s < from_.states.size(); ++s) {
      if (from_.states[s].exit < 0) continue;
      const Sharding& target = local_.shardings[local_.graph.states[s].entry];
      local_.graph.states[s].exit = get(made_[from_.states[s].exit], target, "store");
    }
    for (const Output& output : from_.outputs) {
      Sharding target = local_.shardings[made_[output.value]];
      target.partial.clear();
      target.kind = Reduce::none;
      local_.graph.outputs.push_back({output.name, get(made_[output.value], target, "forward")});
    }
    return std::move(local_);
  }

 private:
  void add_entries() {
    size_t at = 0;
    for (const Input& input : from_.inputs) {
      local_.graph.inputs.push_back({add_entry(input.value, plan_.inputs[at++]), input.batch_dim});
    }
    for (const State& state : from_.states) {
      local_.graph.states.push_back(state);
      local_.graph.states.back().entry = add_entry(state.entry, plan_.inputs[at++]);
      local_.graph.states.back().exit = -1;
    }
  }

  ValueId add_entry(ValueId old, const Dims& dims) {
    return made_[old] = add_value(from_.values[old].name, from_.type(old), -1, 0, {.dims = dims});
  }

  ValueId add_value(const std::string& name, const Type& type, NodeId producer, int output, Sharding sharding) {
    const ValueId id = static_cast<ValueId>(local_.graph.values.size());
    local_.graph.values.push_back({type, name, producer, output});
    local_.shardings.push_back(std::move(sharding));
    return id;
  }

  void add_node(size_t n) {
    const Node& node = from_.nodes[n];
    const std::vector<Type> outputs = from_.types(node.outputs);
    const ShardingRule rule = rule_of(from_, node, ops_);
    const Cut cut = cuts_[n] ? *cuts_[n] : cut_by_operands(node, rule);
    refuse_cut_windows(node, rule, cut);

    std::vector<Sharding> given;
    for (ValueId input : node.inputs) given.push_back(local_.shardings[made_[input]]);
    const Sharding passed = passed_partial(rule, cut, given);
    Node copy = node;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Sharding target{.dims = lift(rule, cut, rule.inputs[i])};
      if (is_partial(node.inputs[i]) && !passed.partial.empty()) {
        target.kind = passed.kind;
        target.partial = passed.partial;
      }
      copy.inputs[i] = get(made_[node.inputs[i]], target, node.phase == Phase::forward ? "forward" : "gradient");
    }
    const NodeId id = static_cast<NodeId>(local_.graph.nodes.size());
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      Sharding sharding = result_sharding(rule, cut, passed, static_cast<int>(k));
      copy.outputs[k] = made_[node.outputs[k]] =
          add_value(from_.values[node.outputs[k]].name, outputs[k], id, static_cast<int>(k), std::move(sharding));
    }
    local_.graph.nodes.push_back(std::move(copy));
    local_.cuts.push_back(cut);
  }

  /// The cut of a node that an expansion made, whose own expansion would come too late.
  Cut cut_by_operands(const Node& node, const ShardingRule& rule) const {
    std::vector<Dims> dims;
    for (ValueId input : node.inputs) dims.push_back(local_.shardings[made_[input]].dims);
    return suggest_cut(rule, dims, {}, plan_.mesh, /*expandable=*/false);
  }

  void refuse_cut_windows(const Node& node, const ShardingRule& rule, const Cut& cut) const {
    for (const std::vector<TensorMap>* maps : {&rule.inputs, &rule.outputs}) {
      for (const TensorMap& map : *maps) {
        for (const DimMap& dim : map) {
          if (!dim.window || dim.factors.empty() || cut[dim.factors[0]].empty()) continue;
          throw InvalidArgument(
              fmt::format("[partition] {} is cut along a window, got factor {} cut by {}, expected it "
                          "whole: halo exchange is not available",
                          node.name, rule.factors[dim.factors[0]].name, plan_.mesh.print(cut[dim.factors[0]])));
        }
      }
    }
  }

  bool is_partial(ValueId old) const { return !local_.shardings[made_[old]].partial.empty(); }

  /// The value in another sharding; every conversion is made once.
  ValueId get(ValueId value, Sharding target, const std::string& reason) {  // a copy: shardings move
    Sharding now = local_.shardings[value];
    if (now == target) return value;
    const Type type = local_.graph.type(value);
    if (now.partial != target.partial) {
      value = reduce(value, target, reason);
      now = local_.shardings[value];
    }
    for (size_t d = 0; d < now.dims.size(); ++d) {  // gather first: a sliced axis may be used elsewhere
      if (is_prefix(now.dims[d], target.dims[d])) continue;
      size_t common = 0;
      while (common < target.dims[d].size() && now.dims[d][common] == target.dims[d][common]) ++common;
      Sharding gathered = now;
      gathered.dims[d].resize(common);
      const Axes axes(now.dims[d].begin() + common, now.dims[d].end());
      value = convert(value, "all_gather", axes, static_cast<int64_t>(d), Reduce::none, "reshard", gathered);
      now = std::move(gathered);
    }
    for (size_t d = 0; d < now.dims.size(); ++d) {
      if (now.dims[d] == target.dims[d]) continue;
      Sharding sliced = now;
      sliced.dims[d] = target.dims[d];
      const Axes axes(target.dims[d].begin() + now.dims[d].size(), target.dims[d].end());
      value = convert(value, "slice_shard", axes, static_cast<int64_t>(d), Reduce::none, "reshard", sliced);
      now = std::move(sliced);
    }
    return value;
  }

  ValueId reduce(ValueId value, const Sharding& target, const std::string& reason) {
    const Sharding now = local_.shardings[value];
    Sharding reduced{.dims = now.dims};
    for (size_t d = 0; d < now.dims.size(); ++d) {
      Axes scattered = now.dims[d];
      scattered.insert(scattered.end(), now.partial.begin(), now.partial.end());
      if (scattered != target.dims[d]) continue;
      reduced.dims[d] = scattered;
      return convert(value, "reduce_scatter", now.partial, static_cast<int64_t>(d), now.kind, reason, reduced);
    }
    return convert(value, "all_reduce", now.partial, -1, now.kind, reason, reduced);
  }

  ValueId convert(ValueId value, const std::string& op, const Axes& axes, int64_t dim, Reduce reduce,
                  const std::string& reason, const Sharding& result) {
    const auto key = std::tuple(value, op, dim, axes);
    if (const auto known = converted_.find(key); known != converted_.end()) return known->second;
    const ValueInfo& source = local_.graph.values[value];
    Node node{.op = op, .attrs = Attrs(collective(plan_.mesh, axes, dim, reduce, reason)), .inputs = {value}};
    std::string name = source.name + "." + op;
    for (int again = 2; !names_.insert(name).second; ++again) name = fmt::format("{}.{}{}", source.name, op, again);
    node.name = name;
    if (source.producer >= 0) {
      const Node& producer = local_.graph.nodes[source.producer];
      node.scope = producer.scope;
      node.source = producer.source;
      node.phase = producer.phase;
    }
    const NodeId id = static_cast<NodeId>(local_.graph.nodes.size());
    node.outputs = {add_value(name, Type(source.type), id, 0, result)};
    local_.graph.nodes.push_back(node);
    local_.cuts.emplace_back();
    return converted_[key] = node.outputs[0];
  }

  const Graph& from_;
  const std::vector<std::optional<Cut>>& cuts_;
  const OpSet& ops_;
  const Plan& plan_;
  LocalGraph local_;
  std::vector<ValueId> made_;  // value of the graph -> value of the local graph, as produced
  std::map<std::tuple<ValueId, std::string, int64_t, Axes>, ValueId> converted_;
  std::set<std::string> names_;
};

}  // namespace

LocalGraph partition(const Graph& graph, const OpSet& ops, const Plan& plan) {
  const Expanded expanded = expand_nodes(graph, ops, plan);
  return Partitioner(expanded, ops, plan).run();
}

}  // namespace partita
