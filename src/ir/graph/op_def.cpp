#include "ir/graph/op_def.h"

#include "ir/graph/builder.h"

namespace partita {

Value BuildCall::apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attributes) const {
  return builder.apply(op, operands, attributes);
}

std::vector<Value> BuildCall::apply_all(std::string_view op, const std::vector<Value>& operands,
                                        const Attrs& attributes) const {
  return builder.apply_all(op, operands, attributes);
}

namespace {

/// Returns `infer` with checks that reject operands that break the rules, results of too many dimensions and results
/// whose elements cannot be counted. A kernel would write outside its memory for these.
std::function<std::vector<Type>(const OpCall&)> checked(const OpDef& op) {
  return [name = op.name, operands = op.operands, infer = op.infer](const OpCall& call) {
    require_rules(name, call, operands);
    std::vector<Type> types = infer(call);
    for (const Type& type : types) {
      if (type.rank() > kMaxDims) {
        reject(name, "result has too many dimensions", fmt::format("{}", type.rank()),
               fmt::format("at most {}", kMaxDims));
      }
      if (!is_countable(type.shape)) reject(name, "result too large", print(type), "fewer elements");
    }
    return types;
  };
}

}  // namespace

OpSet::OpSet(std::vector<OpDef> ops) : ops_(std::move(ops)) {
  for (size_t i = 0; i < ops_.size(); ++i) {
    ops_[i].infer = checked(ops_[i]);
    const bool added = index_.emplace(ops_[i].name, i).second;
    PARTITA_CHECK(added, "two ops are called {}", ops_[i].name);
    for (Sample& sample : ops_[i].samples) {
      if (sample.attrs.empty()) sample.attrs = ops_[i].attrs;
    }
  }
}

const OpDef* OpSet::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &ops_[found->second];
}

const OpDef& OpSet::at(std::string_view name) const {
  if (const OpDef* op = find(name)) return *op;
  std::vector<std::string> names;
  for (const OpDef& op : ops_) names.push_back(op.name);
  throw unknown_name("[graph] unknown op", name, fmt::format("one of {} ops", names.size()), names);
}

ShardingRule rule_of(const Graph& graph, const Node& node, const OpSet& ops) {
  const std::vector<Type> inputs = graph.types(node.inputs), outputs = graph.types(node.outputs);
  return ops.at(node.op).rule({node.attrs, inputs, outputs});
}

}  // namespace partita
