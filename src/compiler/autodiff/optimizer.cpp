#include "compiler/autodiff/optimizer.h"

#include "ir/optimizers/registry.h"

namespace partita {
namespace {

double decay_of(const OptimizerOptions& options, const Builder& builder, Value parameter) {
  const std::string& name = builder.graph().values[parameter.id()].name;
  for (const std::string& part : options.no_decay) {
    if (name.find(part) != std::string::npos) return 0;
  }
  return options.decay_vectors || parameter.type().rank() > 1 ? options.weight_decay : 0;
}

/// Checks that all options that are given belong to an optimizer. Throws InvalidArgument otherwise.
void require_known(const OptimizerOptions& options) {
  std::vector<std::string> names;
  for (const OptimizerOption& option : all_optimizer_options()) names.push_back(option.name);
  for (const auto& [name, value] : options.others) position_of_name("optimizer", name, names);
}

}  // namespace

void build_update(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient,
                  Value learning_rate) {
  const OptimizerDef& optimizer = find_optimizer("optimizer", options.kind.name);
  require_known(options);
  UpdateCall::Settings settings;
  for (const OptimizerOption& option : optimizer.options) {
    settings.emplace(option.name, optimizer_number(options, option.name));
  }
  optimizer.build({builder, parameter, gradient, learning_rate, decay_of(options, builder, parameter), settings});
}

}  // namespace partita
