#include "compiler/autodiff/training_graph.h"

#include <map>
#include <numeric>
#include <unordered_set>

#include "compiler/autodiff/differentiate.h"
#include "compiler/autodiff/rate_factors.h"
#include "ir/ops/constant.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/elementwise/moving_average.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/optimizers/averages.h"

namespace partita {
namespace {

std::vector<ValueId> chosen_parameters(const Graph& graph, const TrainingOptions& options) {
  std::vector<ValueId> chosen;
  std::vector<std::string> names;
  const std::unordered_set<std::string> asked(options.parameters.begin(), options.parameters.end());
  for (const State& state : graph.states) {
    if (state.kind != StateKind::parameter) continue;
    const std::string& name = graph.values[state.entry].name;
    names.push_back(name);
    const bool listed = asked.empty() || asked.contains(name);
    if (listed && !asked.empty() && !state.requires_grad) {
      throw InvalidArgument("[optimizer] parameter is frozen, got '{}', expected one that requires a gradient", name);
    }
    if (listed && state.requires_grad) chosen.push_back(state.entry);
  }
  const std::unordered_set<std::string> known(names.begin(), names.end());
  for (const std::string& name : options.parameters) {
    if (!known.contains(name)) {
      throw unknown_name("[optimizer] unknown parameter", name, fmt::format("one of {} parameters", names.size()),
                         names);
    }
  }
  if (chosen.empty()) throw InvalidArgument("[optimizer] nothing to train, got 0 parameters, expected at least 1");
  return chosen;
}

/// Returns the learning rate of each of the parameters `names`. Appends a node per factor, in the phase update. Throws
/// InvalidArgument as `rate_factors` does.
std::vector<Value> rates_of(Builder& builder, const OptimizerOptions& options, Value rate,
                            const std::vector<std::string>& names) {
  std::map<double, Value> scaled{{1, rate}};
  std::vector<Value> rates;
  for (const double factor : rate_factors(options.rate_of, names)) {
    if (!scaled.contains(factor)) {
      builder.scope.clear();
      builder.source = {};
      builder.phase = Phase::update;
      scaled.emplace(factor, builder.apply("scale", {rate}, ScaleAttrs{.scale = factor}));
    }
    rates.push_back(scaled.at(factor));
  }
  return rates;
}

/// Replaces each of `gradients` by its product with min(1, most / (norm + 1e-6)), where norm is that of all gradients
/// together. Appends the nodes to the graph, in the phase update.
void clip(Builder& builder, double most, std::vector<Value>& gradients) {
  builder.scope.clear();
  builder.source = {};
  builder.phase = Phase::update;
  Value total;
  for (const Value& gradient : gradients) {
    std::vector<int64_t> axes(gradient.type().rank());
    std::iota(axes.begin(), axes.end(), 0);
    const Value squares = builder.apply("square", {gradient});
    const Value sum =
        axes.empty() ? squares : builder.apply("reduce", {squares}, ReduceAttrs{.kind = Reduce::sum, .axes = axes});
    total = total ? builder.apply("add", {total, sum}) : sum;
  }
  const Value norm = builder.apply("scale", {builder.apply("sqrt", {total})}, ScaleAttrs{.bias = 1e-6});
  const Value limit = constant(builder, most, norm.type()), one = constant(builder, 1, norm.type());
  const Value factor = builder.apply("minimum", {builder.apply("div", {limit, norm}), one});
  for (Value& gradient : gradients) gradient = builder.apply("mul", {gradient, factor});
}

/// Gives the nodes that are added next the layer of a parameter, and a phase.
void enter(Builder& builder, const std::string& parameter, Phase phase) {
  builder.source = {};
  const size_t dot = parameter.rfind('.');
  builder.scope = dot == std::string::npos ? std::string() : parameter.substr(0, dot);
  builder.phase = phase;
}

/// Adds the output kFinite for these gradients. Stages of a pipeline have parameters in the order of the list, so the
/// result goes from the last one to the first, as gradients do.
void check(Builder& builder, const std::vector<Value>& gradients) {
  builder.scope = kFinite;
  builder.source = {};
  builder.phase = Phase::backward;
  Value all;
  for (size_t i = gradients.size(); i-- > 0;) {
    const Value one = builder.apply("all_finite", {gradients[i]});
    all = all ? builder.apply("minimum", {all, one}) : one;
  }
  builder.output(std::string(kFinite), all);
}

/// Moves the average of a parameter towards its new value, if it has one.
void average(Builder& builder, double keep, const std::string& parameter) {
  const State state = *builder.find_state(parameter);
  if (state.exit < 0) return;  // an update of a program's own may leave parameters as they are
  if (builder.find_state(average_of(parameter)) != nullptr) {
    throw InvalidArgument("[optimizer] the name of an average is taken, got a state '{}', expected another name of it",
                          average_of(parameter));
  }
  const Value now = builder.value(state.exit);
  const Value before = builder.state(
      average_of(parameter), now.type(),
      {.kind = StateKind::optimizer, .init = state.init, .requires_grad = false, .owner = parameter});
  builder.store(before, builder.apply("moving_average", {before, now}, MovingAverageAttrs{.keep = keep}));
}

void count_step(Builder& builder) {
  const State* step = builder.find_state("step");
  if (step == nullptr || step->kind != StateKind::counter || step->exit >= 0) return;
  const Value value = builder.value(step->entry);
  builder.scope.clear();
  builder.store(value, builder.apply("add", {value, constant(builder, 1, value.type())}));
}

/// Adds warnings of 16 bits that no product could have, and of f16 without a scale.
void warn_of_precision(const Graph& graph, const OpSet& ops, const TrainingOptions& options,
                       std::vector<std::string>& warnings) {
  const PrecisionOptions& precision = options.precision;
  const auto is_product = [&](const Node& node) { return !ops.at(node.op).traits.halves.operands.empty(); };
  const bool has_products = std::ranges::any_of(graph.nodes, is_product);
  if (precision.precision != MixedPrecision::f32 && !has_products) {
    warnings.push_back(fmt::format("[--precision] has no effect, got {}: the network has no products, expected f32",
                                   name_of(precision.precision)));
  }
  if (uses(precision, MixedPrecision::f16) && !options.scales_loss) {
    warnings.push_back(
        "[--precision] losses are not scaled, got f16: gradients below 6e-8 become 0, expected --loss-scaling dynamic, "
        "or bf16, which keeps them");
  }
}

}  // namespace

TrainingGraph make_training_graph(const Graph& given, const OpSet& ops, const TrainingOptions& options) {
  Graph forward;
  // The backward pass and the update add about three times as many nodes as the forward pass; reserving avoids
  // reallocation.
  forward.nodes.reserve(4 * given.nodes.size());
  forward.values.reserve(4 * given.values.size());
  forward = given;
  choose_recomputed(forward, options.recompute, ops);
  const std::vector<ValueId> parameters = chosen_parameters(forward, options);
  std::vector<std::string> warnings;
  const ValueId forward_loss = forward.output("loss");
  Builder builder(ops, std::move(forward));
  std::vector<Value> values;
  std::vector<std::string> names;
  for (ValueId id : parameters) {
    values.push_back(builder.value(id));
    names.push_back(builder.graph().values[id].name);
  }
  const Value loss = builder.value(forward_loss);
  const Value scale = options.scales_loss ? builder.input(std::string(kLossScale), {loss.dtype(), {}}) : Value();
  std::vector<Value> gradients = differentiate(builder, loss, values, scale);

  const Value rate = builder.input("learning_rate", Type{values[0].dtype(), {}});
  for (size_t i = 0; i < values.size(); ++i) {
    enter(builder, names[i], Phase::backward);
    if (!gradients[i]) {
      warnings.push_back(
          fmt::format("[autodiff] the loss does not depend on parameter '{}': its gradient is 0", names[i]));
      gradients[i] = constant(builder, 0, values[i].type());
    }
    if (options.gradient_factor != 1) {
      gradients[i] = builder.apply("scale", {gradients[i]}, ScaleAttrs{.scale = options.gradient_factor});
    }
  }
  if (options.checks_gradients) check(builder, gradients);
  for (size_t i = 0; i < values.size(); ++i) {
    enter(builder, names[i], Phase::update);
    if (scale) gradients[i] = builder.apply("div", {gradients[i], scale});
    if (options.output_gradients) builder.output("d_" + names[i], gradients[i]);
  }
  if (options.optimizer.clip_norm > 0) clip(builder, options.optimizer.clip_norm, gradients);
  const std::vector<Value> rates = rates_of(builder, options.optimizer, rate, names);
  for (size_t i = 0; i < values.size(); ++i) {
    enter(builder, names[i], Phase::update);
    if (options.own_update) {
      options.own_update(builder, values[i], gradients[i], rates[i]);
    } else {
      build_update(builder, options.optimizer, values[i], gradients[i], rates[i]);
    }
    if (options.optimizer.ema > 0) average(builder, options.optimizer.ema, names[i]);
  }
  count_step(builder);
  Graph training = builder.take();
  training.own_gradients.clear();
  warn_of_precision(training, ops, options, warnings);
  Graph finished = finish_training_graph(remove_dead_nodes(std::move(training)), ops, options.precision);
  return {options.scalar_outputs ? with_scalar_outputs(std::move(finished)) : std::move(finished), std::move(warnings)};
}

Graph finish_training_graph(Graph training, const OpSet& ops, const PrecisionOptions& precision) {
  return recompute_in_backward(mixed_precision(std::move(training), ops, precision), ops);
}

Graph with_scalar_outputs(Graph training) {
  std::erase_if(training.outputs, [&](const Output& output) { return training.type(output.value).rank() > 0; });
  return remove_dead_nodes(std::move(training));
}

}  // namespace partita
