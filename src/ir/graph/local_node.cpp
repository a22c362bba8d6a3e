#include "ir/graph/local_node.h"

#include "ir/sharding/sharding.h"

namespace partita {

Attrs local_attrs(const Graph& graph, NodeId id, const Rules& rules, std::vector<Range> factors) {
  const Node& node = graph.nodes[id];
  const auto& localize = rules.op(id).localize;
  if (!localize) return node.attrs;
  const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
  return localize(node.attrs, shard(rules[id], std::move(factors), {node.attrs, inputs, outputs}));
}

void require_local_results(const Node& node, const OpDef& op, const Attrs& attrs, const std::vector<Type>& operands,
                           const std::vector<Type>& expected, const std::string& place) {
  const std::vector<Type> inferred = op.infer({attrs, operands, {}});
  for (size_t k = 0; k < expected.size(); ++k) {
    PARTITA_CHECK(inferred[k] == expected[k], "{}: result {} is {} {}, its sharding says {}", node.name, k,
                  print(inferred[k]), place, print(expected[k]));
  }
}

}  // namespace partita
