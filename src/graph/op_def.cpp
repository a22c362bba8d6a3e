#include "graph/op_def.h"

#include "graph/builder.h"

namespace partita {

Value GradCall::apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attributes) const {
  return builder.apply(op, operands, attributes);
}

std::vector<Value> GradCall::apply_all(std::string_view op, const std::vector<Value>& operands,
                                       const Attrs& attributes) const {
  return builder.apply_all(op, operands, attributes);
}

Value ExpandCall::apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attributes) const {
  return builder.apply(op, operands, attributes);
}

std::vector<Value> ExpandCall::apply_all(std::string_view op, const std::vector<Value>& operands,
                                         const Attrs& attributes) const {
  return builder.apply_all(op, operands, attributes);
}

OpSet::OpSet(std::vector<OpDef> ops) : ops_(std::move(ops)) {
  for (size_t i = 0; i < ops_.size(); ++i) {
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
  throw InvalidArgument(fmt::format("[graph] unknown op, got '{}', expected one of {} ops{}", name, names.size(),
                                    did_you_mean(name, names)),
                        ErrorKind::key);
}

}  // namespace partita
