#include "ir/graph/rules.h"

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

void add_types(std::string& key, const Graph& graph, const Node& node) {
  key += '\n';
  add_types(key, graph, node.inputs);
  add_types(key, graph, node.outputs);
}

}  // namespace

const RuleTable::Entry* RuleTable::find(const Graph& graph, const Node& node) {
  key_ = node.op;
  add_number(key_, reinterpret_cast<int64_t>(node.attrs.identity()));  // NOLINT: a number of it
  add_types(key_, graph, node);
  const auto [seen, fresh] = seen_.try_emplace(key_);
  if (fresh) seen->second = {node.attrs, make(graph, node)};
  return seen->second.entry;
}

/// Returns the rule of the node, null if its op has none. Nodes share a rule exactly if the texts of their op and
/// attributes and their types are equal.
const RuleTable::Entry* RuleTable::make(const Graph& graph, const Node& node) {
  const OpDef* op = ops_.find(node.op);
  if (op == nullptr || !op->rule) return nullptr;
  std::string text = node.op + node.attrs.print();
  add_types(text, graph, node);
  const Entry*& cached = entries_by_text_[std::move(text)];
  if (cached == nullptr) cached = &entries_.emplace_back(Entry{op, rule_of(graph, node, ops_)});
  return cached;
}

Rules::Rules(const Graph& graph, const OpSet& ops) : own_(std::make_unique<RuleTable>(ops)) {
  nodes_.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) nodes_.push_back(own_->find(graph, node));
}

Rules::Rules(const Graph& graph, RuleTable& table) {
  nodes_.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) nodes_.push_back(table.find(graph, node));
}

}  // namespace partita
