#include "partition/node_shardings.h"

#include <algorithm>

#include "partition/collectives.h"

namespace partita {
namespace {

Axes joined(Axes axes, const Axes& more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

void verify_collective(const LocalGraph& local, const Node& node) {
  const Sharding &from = local.shardings[node.inputs[0]], &to = local.shardings[node.outputs[0]];
  const auto& attrs = node.attrs.as<CollectiveAttrs>();
  const Axes axes = axes_of(node, local.mesh);
  const bool reduces = node.op == "all_reduce" || node.op == "reduce_scatter";
  PARTITA_CHECK(node.op == "all_reduce" || (attrs.dim >= 0 && attrs.dim < static_cast<int64_t>(from.dims.size())),
                "{}: dimension {} of {}", node.name, attrs.dim, print(local.graph.type(node.inputs[0])));
  Sharding expected = from;
  if (reduces) {
    PARTITA_CHECK(from.partial == axes && from.kind == attrs.reduce, "{} reduces what is not partial over its axes",
                  node.name);
    expected.partial.clear();
    expected.kind = Reduce::none;
  }
  if (node.op == "reduce_scatter" || node.op == "slice_shard") {
    expected.dims[attrs.dim] = joined(from.dims[attrs.dim], axes);
  }
  if (node.op == "all_gather") {
    const size_t kept = from.dims[attrs.dim].size() - std::min(axes.size(), from.dims[attrs.dim].size());
    expected.dims[attrs.dim].resize(kept);
    PARTITA_CHECK(joined(expected.dims[attrs.dim], axes) == from.dims[attrs.dim],
                  "{} gathers what is not cut by its axes", node.name);
  }
  PARTITA_CHECK(to == expected, "{}: the result is not sharded as the collective leaves it", node.name);
}

}  // namespace

Sharding passed_partial(const ShardingRule& rule, const Cut& cut, const std::vector<Sharding>& operands) {
  std::vector<int> partial;
  const Sharding* first = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Sharding& sharding = operands[i];
    if (sharding.partial.empty()) continue;
    if (first && (first->partial != sharding.partial || first->kind != sharding.kind)) return {};
    if (sharding.dims != lift(rule, cut, rule.inputs[i])) return {};
    first = &sharding;
    partial.push_back(static_cast<int>(i));
  }
  if (!first) return {};
  for (const Axes& axes : cut) {
    for (int axis : axes) {
      if (std::find(first->partial.begin(), first->partial.end(), axis) != first->partial.end()) return {};
    }
  }
  for (size_t k = 0; k < rule.outputs.size(); ++k) {
    const Sharding own = output_sharding(rule, cut, static_cast<int>(k));
    if (!own.partial.empty() && own.kind != first->kind) return {};
  }
  const bool declared = std::any_of(rule.linear.begin(), rule.linear.end(), [&](const Linear& group) {
    std::vector<int> members = group.operands;
    std::sort(members.begin(), members.end());
    return members == partial && group.kinds.has(first->kind);
  });
  return declared ? Sharding{.dims = {}, .kind = first->kind, .partial = first->partial} : Sharding{};
}

Sharding result_sharding(const ShardingRule& rule, const Cut& cut, const Sharding& passed, int k) {
  Sharding sharding = output_sharding(rule, cut, k);
  if (passed.partial.empty()) return sharding;
  sharding.kind = passed.kind;
  sharding.partial = joined(sharding.partial, passed.partial);
  std::sort(sharding.partial.begin(), sharding.partial.end());
  return sharding;
}

void verify_shardings(const LocalGraph& local, NodeId id, const OpSet& ops) {
  const Node& node = local.graph.nodes[id];
  if (is_collective(node)) return verify_collective(local, node);
  const ShardingRule rule = rule_of(local.graph, node, ops);
  const Cut& cut = local.cuts[id];
  PARTITA_CHECK(!needs_expansion(rule, cut), "{} is cut along a factor that only its expansion can cut", node.name);
  std::vector<Sharding> operands;
  for (ValueId input : node.inputs) operands.push_back(local.shardings[input]);
  const Sharding passed = passed_partial(rule, cut, operands);
  for (size_t i = 0; i < operands.size(); ++i) {
    PARTITA_CHECK(operands[i].dims == lift(rule, cut, rule.inputs[i]),
                  "{}: operand {} does not lie as the cut needs it", node.name, i);
    PARTITA_CHECK(operands[i].partial.empty() || !passed.partial.empty(), "{}: operand {} is partial and not reduced",
                  node.name, i);
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    PARTITA_CHECK(local.shardings[node.outputs[k]] == result_sharding(rule, cut, passed, static_cast<int>(k)),
                  "{}: result {} is not sharded as the cut leaves it", node.name, k);
  }
}

}  // namespace partita
