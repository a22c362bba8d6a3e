#include "compiler/partition/expand_nodes.h"

#include "ir/graph/rewrite.h"

namespace partita {

bool needs_expansion(const Plan& plan, const Rules& rules) {
  for (size_t n = 0; n < plan.cuts.size(); ++n) {
    if (needs_expansion(rules[n], plan.cuts[n])) return true;
  }
  return false;
}

Expanded expand_nodes(const Graph& graph, const Rules& rules, const OpSet& ops, const Plan& plan) {
  Rewrite rewrite(graph, ops);
  Builder& rest = rewrite.builder();
  Expanded result;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const OpDef& op = ops.at(node.op);
    const std::vector<Type> outputs = graph.types(node.outputs);
    const std::vector<Value> operands = rewrite[node.inputs];
    std::vector<Value> results;
    if (needs_expansion(rules[n], plan.cuts[n])) {
      rest.scope = node.scope;
      rest.source = node.source;
      rest.phase = node.phase;
      rest.origin = node.origin.empty() ? node.name : node.origin;
      results = op.expand({{rest, node.attrs, operands}, outputs});
      PARTITA_CHECK(results.size() == outputs.size(), "expansion of {} has {} results", node.op, results.size());
      OperandDims dims;
      for (size_t i = 0; i < operands.size(); ++i) {
        dims.emplace(operands[i].id(), dims_from_factors(rules[n], plan.cuts[n], rules[n].inputs[i]));
      }
      for (size_t made = result.cuts.size(); made < rest.graph().nodes.size(); ++made) {
        result.operands.emplace(static_cast<NodeId>(made), dims);
      }
      result.cuts.resize(rest.graph().nodes.size());
    } else {
      results = rest.copy_node(graph, node, operands);
      result.cuts.emplace_back(plan.cuts[n]);
    }
    rewrite.set(node, results);
  }
  for (const auto& [value, dims] : plan.results) result.results[rewrite[value].id()] = dims;
  result.graph = rewrite.finish();
  return result;
}

}  // namespace partita
