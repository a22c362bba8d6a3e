#include "ir/ops/matmul/orthogonalize.h"
#include "ir/optimizers/adam.h"
#include "ir/optimizers/parameter_role.h"
#include "ir/optimizers/shared_options.h"
#include "ir/optimizers/terms.h"
#include "ir/optimizers/update_op.h"

namespace partita {
namespace {

constexpr auto kAverage = "muon_average", kStep = "muon";

struct MuonAverageAttrs {
  double momentum = 0.95;
  bool nesterov = true;
  static constexpr auto fields() {
    return std::tuple{field("momentum", &MuonAverageAttrs::momentum), field("nesterov", &MuonAverageAttrs::nesterov)};
  }
};

template <class T>
struct MuonAverage : UpdateStep<MuonAverageAttrs, Scalars::none, 2, 0, 1> {
  T keep, of_gradient, of_velocity;

  template <class Scalar, class Cast>
  MuonAverage(const MuonAverageAttrs& attrs, const Scalar&, const Scalar&, const Cast&)
      : keep(static_cast<T>(attrs.momentum)),
        of_gradient(attrs.nesterov ? T{1} : T{0}),
        of_velocity(attrs.nesterov ? keep : T{1}) {}

  void apply(std::array<T, kTensors>& x) const {
    auto& [gradient, v] = x;
    v = keep * v + gradient;
    gradient = of_gradient * gradient + of_velocity * v;
  }
};

struct MuonAttrs {
  double scale = 1, weight_decay = 0;
  static constexpr auto fields() {
    return std::tuple{field("scale", &MuonAttrs::scale), field("weight_decay", &MuonAttrs::weight_decay)};
  }
};

template <class T>
struct MuonStep : UpdateStep<MuonAttrs, Scalars::rate, 2, 0> {
  T rate, scale, decay;

  template <class Scalar, class Cast>
  MuonStep(const MuonAttrs& attrs, const Scalar& learning_rate, const Scalar&, const Cast& cast)
      : rate(cast(learning_rate)), scale(static_cast<T>(attrs.scale)), decay(static_cast<T>(attrs.weight_decay)) {}

  void apply(std::array<T, kTensors>& x) const {
    auto& [w, direction] = x;
    w = w - rate * (scale * direction + decay * w);
  }
};

/// Number of dimensions that count matrices: those before the last two, but for filters, whose first dimension counts
/// rows and whose others count columns.
int64_t batch_dims(const Type& type) { return type.rank() == 3 ? 1 : 0; }

double scale_of(const UpdateCall& call, const MatrixSizes& sizes) {
  const auto rows = static_cast<double>(sizes.rows), columns = static_cast<double>(sizes.columns);
  return call.is_on("match_rms") ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
}

void build_matrix(const UpdateCall& call) {
  const Value velocity = call.state("momentum");
  const MuonAverageAttrs average{.momentum = call.number("momentum"), .nesterov = call.is_on("nesterov")};
  const std::vector<Value> averaged = call.builder.apply_all(kAverage, {call.gradient, velocity}, average);
  call.builder.store(velocity, averaged[1]);
  const OrthogonalizeAttrs orthogonalize{.batch = batch_dims(call.parameter.type()),
                                         .steps = static_cast<int64_t>(call.number("newton_schulz_steps"))};
  const Value direction = call.apply("orthogonalize", {averaged[0]}, orthogonalize);
  const MuonAttrs attrs{.scale = scale_of(call, MatrixSizes(call.parameter.shape(), orthogonalize.batch)),
                        .weight_decay = call.decay};
  call.store_results(kStep, {call.parameter, direction, call.rate}, attrs, {call.parameter});
}

void build_muon(const UpdateCall& call) {
  if (is_hidden_matrix(call.builder, call.parameter)) return build_matrix(call);
  const double share = call.number("adamw_rate");
  build_adam(call,
             {.beta1 = call.number("beta1"),
              .beta2 = call.number("beta2"),
              .epsilon = call.number("epsilon"),
              .weight_decay = call.decay,
              .decoupled = true},
             share == 1 ? call.rate : Value(Term(call.rate) * share));
}

}  // namespace

std::vector<OptimizerDef> muon_optimizers() {
  OptimizerDef optimizer;
  optimizer.name = "muon";
  optimizer.summary =
      "v = momentum v + g; w -= rate scale O for matrices of hidden layers, where O is g + momentum v with singular "
      "values near 1 (Jordan, 2024); tables, heads and vectors by AdamW";
  optimizer.states = {
      {.name = "momentum", .what = "the momentum v of hidden matrices", .of_some = true},
      {.name = "exp_avg", .what = "the mean of gradients of the other parameters", .of_some = true},
      {.name = "exp_avg_sq", .what = "the mean of squared gradients of the other parameters", .of_some = true}};
  optimizer.options = {
      momentum_option(0.95),
      nesterov_option(true),
      {.name = "newton_schulz_steps",
       .standard = 5,
       .least = 1,
       .most = 30,
       .help = "Steps of the iteration that orthogonalizes",
       .is_whole = true},
      {.name = "match_rms",
       .standard = 1,
       .help =
           "Scale a matrix's step by 0.2 sqrt(max(rows, columns)), to the size of steps of AdamW (Liu et al., 2025), "
           "instead of sqrt(max(1, rows / columns)) (Jordan, 2024)",
       .is_switch = true},
      {.name = "adamw_rate",
       .standard = 1,
       .most = 1e6,
       .help = "Learning rate of tables, heads and vectors, as a multiple of the learning rate"},
      beta1_option(0.9),
      beta2_option(0.999),
      epsilon_option(1e-8)};
  optimizer.counts_steps = true;
  optimizer.build = build_muon;
  optimizer.ops = {
      update_op<MuonAverage>(kAverage, "(g, v): v = momentum v + g; (nesterov ? g + momentum v : v), v", 4, {},
                             {{0.95, true}, {0.9, false}}),
      update_op<MuonStep>(kStep, "(w, o, rate) -> w - rate (scale o + weight_decay w)", 5, {}, {{1, 0}, {0.8, 0.1}})};
  optimizer.python = {.name = "Muon",
                      .parameters = {{"learning_rate", "0.001"},
                                     {"momentum", "0.95"},
                                     {"nesterov", "True"},
                                     {"weight_decay", "0.0"},
                                     {"newton_schulz_steps", "5"},
                                     {"match_rms", "True"},
                                     {"adamw_rate", "1.0"},
                                     {"beta1", "0.9"},
                                     {"beta2", "0.999"},
                                     {"eps", "1e-08", "epsilon"}}};
  return {optimizer};
}

}  // namespace partita
