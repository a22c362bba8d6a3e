#include "graph/rules.h"

namespace partita {
namespace {

void add_number(std::string& key, int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));  // NOLINT: bytes of a key
}

void add_types(std::string& key, const Graph& graph, const std::vector<ValueId>& values) {
  add_number(key, static_cast<int64_t>(values.size()));
  for (ValueId value : values) {
    const Type& type = graph.type(value);
    add_number(key, static_cast<int64_t>(type.dtype));
    add_number(key, type.rank());
    for (int64_t size : type.shape) add_number(key, size);
  }
}

/// Equal for nodes that have the same rule, and for no others.
std::string key_of(const Graph& graph, const Node& node) {
  std::string key = node.op + node.attrs.print() + '\n';
  add_types(key, graph, node.inputs);
  add_types(key, graph, node.outputs);
  return key;
}

}  // namespace

Rules::Rules(const Graph& graph, const OpSet& ops) {
  nodes_.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    const OpDef* op = ops.find(node.op);
    if (op == nullptr || !op->rule) {
      nodes_.push_back(nullptr);
      continue;
    }
    auto& entry = known_[key_of(graph, node)];
    if (!entry) entry = std::make_unique<Entry>(Entry{op, rule_of(graph, node, ops)});
    nodes_.push_back(entry.get());
  }
}

}  // namespace partita
