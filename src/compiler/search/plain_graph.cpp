#include "compiler/search/plain_graph.h"

#include <algorithm>
#include <unordered_map>

#include "ir/graph/rewrite.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

using DimAxes = std::vector<Axes>;

/// Returns, per node, whether it is a rounding or a cast back from one.
std::vector<bool> find_conversions(const Graph& graph, const OpSet& ops) {
  const auto is_conversion = [&](const Node& node) {
    const OpDef* op = ops.find(node.op);
    return op != nullptr && op->traits.is_conversion;
  };
  std::vector<bool> found(graph.nodes.size(), false), is_output(graph.values.size(), false);
  for (const Output& output : graph.outputs) is_output[output.value] = true;
  const std::vector<std::vector<NodeId>> users = graph.users();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_conversion(node)) continue;
    const ValueId result = node.outputs[0];
    const Type &before = graph.type(node.inputs[0]), &after = graph.type(result);
    if (before == after) found[n] = true;
    if (before.bytes() <= after.bytes() || is_output[result]) continue;
    const auto casts_back = [&](NodeId user) {
      return is_conversion(graph.nodes[user]) && graph.type(graph.nodes[user].outputs[0]) == before;
    };
    if (!is_float(before.dtype) || !is_float(after.dtype)) continue;
    if (!std::ranges::all_of(users[result], casts_back)) continue;
    found[n] = true;
    for (const NodeId user : users[result]) found[user] = true;
  }
  return found;
}

/// Whether gathering alone turns a value that is sharded as `fine` into one sharded as `coarse`, if they differ.
bool is_gathered_to(const DimAxes& fine, const DimAxes& coarse) {
  return std::equal(fine.begin(), fine.end(), coarse.begin(), coarse.end(), [](const Axes& all, const Axes& rest) {
    return rest.size() <= all.size() && std::equal(rest.begin(), rest.end(), all.begin());
  });
}

/// Cuts the roundings of a graph whose other nodes are cut.
class RoundingCuts {
 public:
  RoundingCuts(const Graph& graph, const Rules& rules, const Mesh& mesh, PartialPlan partial)
      : graph_(graph), rules_(rules), mesh_(mesh), partial_(std::move(partial)), made_(graph.values.size()) {}

  PartialPlan run() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) made_[graph_.inputs[i].value].dims = partial_.inputs[i];
    for (size_t s = 0; s < graph_.states.size(); ++s) made_[graph_.states[s].entry].dims = *partial_.states[s];
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!partial_.cuts[n]) partial_.cuts[n] = cut_of_conversion(n);
      enter(n);
    }
    return std::move(partial_);
  }

 private:
  /// Returns the shardings in which nodes that are no conversions need `value`, in the order of the nodes.
  std::vector<DimAxes> needs_of(ValueId value) const {
    std::vector<DimAxes> needs;
    for (const NodeId user : users_[value]) {
      const auto n = static_cast<size_t>(user);
      if (is_conversion(n)) continue;
      const std::vector<ValueId>& inputs = graph_.nodes[n].inputs;
      const auto at = std::ranges::find(inputs, value) - inputs.begin();
      needs.push_back(dims_from_factors(rules_[n], *partial_.cuts[n], rules_[n].inputs[static_cast<size_t>(at)]));
    }
    return needs;
  }

  /// Returns the shardings in which nodes need what is converted from `value`.
  std::vector<DimAxes> later_needs_of(ValueId value) const {
    std::vector<DimAxes> needs;
    for (const NodeId user : users_[value]) {
      const auto n = static_cast<size_t>(user);
      if (!is_conversion(n)) continue;
      for (const auto& found : {needs_of(graph_.nodes[n].outputs[0]), later_needs_of(graph_.nodes[n].outputs[0])}) {
        needs.insert(needs.end(), found.begin(), found.end());
      }
    }
    return needs;
  }

  bool is_conversion(size_t n) const { return rules_.op(n).traits.is_conversion; }

  /// Returns the sharding of the result of conversion `n`.
  DimAxes dims_of_conversion(size_t n) const {
    const Node& node = graph_.nodes[n];
    const ValueId operand = node.inputs[0], result = node.outputs[0];
    const Sharding& made = made_[operand];
    if (graph_.type(result).bytes() > graph_.type(operand).bytes()) {
      const std::vector<DimAxes> needs = needs_of(result);
      return needs.empty() ? made.dims : needs.front();
    }
    const std::vector<DimAxes> needs = needs_of(operand), later = later_needs_of(operand);
    if (!made.partial.empty() && made.kind == Reduce::sum) {
      return !needs.empty() ? needs.front() : !later.empty() ? later.front() : made.dims;
    }
    // If another node already needs the operand moved to a sharding, the rounded copy is made there: moving it as well
    // would send the same elements twice.
    const auto serves = [&](const DimAxes& dims) {
      return std::ranges::all_of(later, [&](const DimAxes& need) { return is_gathered_to(dims, need); });
    };
    if (serves(made.dims)) return made.dims;
    const auto shared = std::ranges::find_if(needs, serves);
    return shared == needs.end() ? made.dims : *shared;
  }

  Cut cut_of_conversion(size_t n) const {
    return suggest_cut(rules_[n], {{&rules_[n].inputs[0], dims_of_conversion(n)}}, mesh_, /*expandable=*/false);
  }

  void enter(size_t n) {
    const Node& node = graph_.nodes[n];
    std::vector<Sharding> given;
    for (const ValueId input : node.inputs) given.push_back(made_[input]);
    const Cut& cut = *partial_.cuts[n];
    const Sharding passed = propagate_partial(rules_[n], cut, given);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const auto placed = partial_.results.find(node.outputs[k]);
      made_[node.outputs[k]] = placed != partial_.results.end()
                                   ? Sharding{.dims = placed->second}
                                   : result_sharding(rules_[n], cut, passed, static_cast<int>(k));
    }
  }

  const Graph& graph_;
  const Rules& rules_;
  const Mesh& mesh_;
  const std::vector<std::vector<NodeId>> users_ = graph_.users();
  PartialPlan partial_;
  std::vector<Sharding> made_;  // per value: as its node makes it
};

}  // namespace

bool has_roundings(const Graph& graph, const OpSet& ops) {
  const std::vector<bool> found = find_conversions(graph, ops);
  return std::ranges::find(found, true) != found.end();
}

Graph without_roundings(const Graph& graph, const OpSet& ops) {
  const std::vector<bool> is_conversion = find_conversions(graph, ops);
  Rewrite rewrite(graph, ops);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (is_conversion[n]) {
      rewrite.set(node.outputs[0], rewrite[node.inputs[0]]);
    } else {
      rewrite.set(node, rewrite.builder().copy_node(graph, node, rewrite[node.inputs]));
    }
  }
  return rewrite.finish();
}

double share_of_rounded(const Graph& graph, const OpSet& ops) {
  const std::vector<bool> is_conversion = find_conversions(graph, ops);
  const std::vector<std::vector<NodeId>> users = graph.users();
  double bytes = 0, passed = 0;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const NodeId producer = graph.values[v].producer;
    const auto is_update = [&](NodeId user) { return graph.nodes[user].phase == Phase::update; };
    if (producer < 0 || is_conversion[producer] || is_update(producer) || users[v].empty()) continue;
    if (std::ranges::any_of(users[v], is_update)) continue;
    const auto whole = static_cast<double>(graph.type(static_cast<ValueId>(v)).bytes());
    double most = 0;  // bytes that one of the users takes
    for (const NodeId user : users[v]) {
      const bool rounds = is_conversion[user];
      most = std::max(most, rounds ? static_cast<double>(graph.type(graph.nodes[user].outputs[0]).bytes()) : whole);
    }
    bytes += whole;
    passed += most;
  }
  return bytes == 0 ? 1 : passed / bytes;
}

Plan with_roundings(const Plan& plan, const Graph& plain, const Graph& graph, const Rules& rules) {
  std::unordered_map<std::string_view, size_t> nodes, values;
  for (size_t n = 0; n < graph.nodes.size(); ++n) nodes.emplace(graph.nodes[n].name, n);
  for (size_t v = 0; v < graph.values.size(); ++v) values.emplace(graph.values[v].name, v);
  PartialPlan partial(graph);
  const size_t inputs = graph.inputs.size();
  for (size_t i = 0; i < inputs; ++i) partial.inputs[i] = plan.inputs[i];
  for (size_t s = 0; s < graph.states.size(); ++s) partial.states[s] = plan.inputs[inputs + s];
  for (size_t n = 0; n < plain.nodes.size(); ++n) partial.cuts[nodes.at(plain.nodes[n].name)] = plan.cuts[n];
  for (const auto& [value, dims] : plan.results) {
    partial.results[static_cast<ValueId>(values.at(plain.values[value].name))] = dims;
  }
  partial = RoundingCuts(graph, rules, plan.mesh, std::move(partial)).run();
  Plan made = complete_plan(graph, rules, plan.mesh, plan.search, std::move(partial));
  made.outputs = plan.outputs;
  made.regathered = plan.regathered;
  return made;
}

}  // namespace partita
