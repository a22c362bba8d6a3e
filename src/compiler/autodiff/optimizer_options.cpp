#include "compiler/autodiff/optimizer_options.h"

#include <algorithm>
#include <array>
#include <variant>

#include "ir/optimizers/registry.h"

namespace partita {
namespace {

using O = OptimizerOptions;

/// An option with a field in OptimizerOptions.
struct OptionField {
  std::string_view name;
  std::variant<std::optional<double> O::*, std::optional<bool> O::*> field;
};

const std::array kOptionFields{OptionField{"momentum", &O::momentum},
                               OptionField{"dampening", &O::dampening},
                               OptionField{"nesterov", &O::nesterov},
                               OptionField{"beta1", &O::beta1},
                               OptionField{"beta2", &O::beta2},
                               OptionField{"epsilon", &O::epsilon},
                               OptionField{"biased_epsilon", &O::biased_epsilon}};

const OptionField* field_of(std::string_view option) {
  const auto found = std::ranges::find_if(kOptionFields, [&](const OptionField& one) { return one.name == option; });
  return found == kOptionFields.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> OptimizerOptions::given(std::string_view option) const {
  if (const OptionField* one = field_of(option)) {
    return std::visit(
        [&](auto field) -> std::optional<double> {
          const auto& value = this->*field;
          return value ? std::optional<double>(*value) : std::nullopt;
        },
        one->field);
  }
  const auto found = others.find(option);
  return found == others.end() ? std::nullopt : std::optional<double>(found->second);
}

void OptimizerOptions::give(std::string_view option, std::optional<double> value) {
  if (const OptionField* one = field_of(option)) {
    return std::visit(
        [&](auto field) {
          (this->*field).reset();
          if (value) (this->*field).emplace(*value);
        },
        one->field);
  }
  if (value) {
    others.insert_or_assign(std::string(option), *value);
  } else if (const auto found = others.find(option); found != others.end()) {
    others.erase(found);
  }
}

double optimizer_number(const OptimizerOptions& options, std::string_view option) {
  if (const std::optional<double> value = options.given(option)) return *value;
  if (const OptimizerOption* own = find_optimizer("optimizer", options.kind.name).find(option)) return own->standard;
  for (const OptimizerOption& one : all_optimizer_options()) {
    if (one.name == option) return one.value_elsewhere();
  }
  throw InternalError("no optimizer has the option {}", option);
}

}  // namespace partita
