#include "ir/optimizers/optimizer_def.h"

namespace partita {

double UpdateCall::number(std::string_view option) const {
  const auto found = settings_.find(option);
  PARTITA_CHECK(found != settings_.end(), "the optimizer has no option {}", option);
  return found->second;
}

Value UpdateCall::state(const std::string& name, const Type& type, const Initializer& begin) const {
  const std::string& owner = builder.graph().values[parameter.id()].name;
  return builder.state(owner + "." + name, type,
                       {.kind = StateKind::optimizer, .init = begin, .requires_grad = false, .owner = owner});
}

Value UpdateCall::steps() const {
  return builder.state("step", Type{DType::i64, {}}, {.kind = StateKind::counter, .requires_grad = false});
}

void UpdateCall::store_results(std::string_view op, const std::vector<Value>& operands, const Attrs& attrs,
                               const std::vector<Value>& states) const {
  const std::vector<Value> results = builder.apply_all(op, operands, attrs);
  for (size_t k = 0; k < states.size(); ++k) builder.store(states[k], results[k]);
}

}  // namespace partita
