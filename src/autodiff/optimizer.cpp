#include "autodiff/optimizer.h"

namespace partita {
namespace {

struct Optimizer {
  std::string name;
  std::function<void(Builder&, const OptimizerOptions&, Value, Value, Value)> build;
};

Value slot(Builder& builder, Value parameter, const std::string& suffix) {
  const std::string& owner = builder.graph().values[parameter.id()].name;
  return builder.state(owner + "." + suffix, parameter.type(),
                       {.kind = StateKind::slot, .requires_grad = false, .owner = owner});
}

void build_sgd(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient, Value rate) {
  const Attrs attrs = builder.ops().at("sgd").attrs.with({{"weight_decay", to_text(options.weight_decay)}});
  builder.store(parameter, builder.apply("sgd", {parameter, gradient, rate}, attrs));
}

void build_momentum(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient, Value rate) {
  const Value velocity = slot(builder, parameter, "momentum");
  const Attrs attrs = builder.ops()
                          .at("momentum")
                          .attrs.with({{"momentum", to_text(options.momentum)},
                                       {"dampening", to_text(options.dampening)},
                                       {"nesterov", to_text(options.nesterov)},
                                       {"weight_decay", to_text(options.weight_decay)}});
  const std::vector<Value> updated = builder.apply_all("momentum", {parameter, gradient, velocity, rate}, attrs);
  builder.store(parameter, updated[0]);
  builder.store(velocity, updated[1]);
}

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> list{{"momentum", build_momentum}, {"sgd", build_sgd}};
  return list;
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : optimizers()) names.push_back(optimizer.name);
  return names;
}

void build_update(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient,
                  Value learning_rate) {
  for (const Optimizer& optimizer : optimizers()) {
    if (optimizer.name == options.kind) return optimizer.build(builder, options, parameter, gradient, learning_rate);
  }
  throw InvalidArgument(fmt::format("[optimizer] unknown optimizer, got '{}', expected one of [{}]{}", options.kind,
                                    fmt::join(optimizer_names(), ", "), did_you_mean(options.kind, optimizer_names())),
                        ErrorKind::key);
}

}  // namespace partita
