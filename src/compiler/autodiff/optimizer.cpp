#include "compiler/autodiff/optimizer.h"

#include "ir/ops/update/updates.h"

namespace partita {
namespace {

Value optimizer_state(Builder& builder, Value parameter, const std::string& suffix) {
  const std::string& owner = builder.graph().values[parameter.id()].name;
  return builder.state(owner + "." + suffix, parameter.type(),
                       {.kind = StateKind::optimizer, .requires_grad = false, .owner = owner});
}

double decay_of(const OptimizerOptions& options, const Builder& builder, Value parameter) {
  const std::string& name = builder.graph().values[parameter.id()].name;
  for (const std::string& part : options.no_decay) {
    if (name.find(part) != std::string::npos) return 0;
  }
  return options.decay_vectors || parameter.type().rank() > 1 ? options.weight_decay : 0;
}

void build_sgd(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient, Value rate) {
  const SgdAttrs attrs{.weight_decay = decay_of(options, builder, parameter)};
  builder.store(parameter, builder.apply("sgd", {parameter, gradient, rate}, attrs));
}

void build_momentum(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient, Value rate) {
  const Value velocity = optimizer_state(builder, parameter, "momentum");
  const MomentumAttrs attrs{.momentum = options.momentum,
                            .dampening = options.dampening,
                            .nesterov = options.nesterov,
                            .weight_decay = decay_of(options, builder, parameter)};
  const std::vector<Value> updated = builder.apply_all("momentum", {parameter, gradient, velocity, rate}, attrs);
  builder.store(parameter, updated[0]);
  builder.store(velocity, updated[1]);
}

void build_adam(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient, Value rate) {
  const Value first = optimizer_state(builder, parameter, "exp_avg"),
              second = optimizer_state(builder, parameter, "exp_avg_sq");
  const Value step = builder.state("step", Type{DType::i64, {}}, {.kind = StateKind::counter, .requires_grad = false});
  const AdamAttrs attrs{.beta1 = options.beta1,
                        .beta2 = options.beta2,
                        .epsilon = options.epsilon,
                        .weight_decay = decay_of(options, builder, parameter),
                        .decoupled = options.kind == OptimizerKind::adamw,
                        .biased_epsilon = options.biased_epsilon};
  const std::vector<Value> updated = builder.apply_all("adam", {parameter, gradient, first, second, rate, step}, attrs);
  builder.store(parameter, updated[0]);
  builder.store(first, updated[1]);
  builder.store(second, updated[2]);
}

}  // namespace

void build_update(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient,
                  Value learning_rate) {
  switch (options.kind) {
    case OptimizerKind::momentum: return build_momentum(builder, options, parameter, gradient, learning_rate);
    case OptimizerKind::sgd: return build_sgd(builder, options, parameter, gradient, learning_rate);
    case OptimizerKind::adam:
    case OptimizerKind::adamw: return build_adam(builder, options, parameter, gradient, learning_rate);
  }
}

}  // namespace partita
