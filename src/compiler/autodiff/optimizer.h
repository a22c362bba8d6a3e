#pragma once
// Optimizers are graph builders: each appends its update nodes for one parameter.

#include "base/names.h"
#include "ir/graph/builder.h"

namespace partita {

enum class OptimizerKind { momentum, sgd, adam, adamw };
template <>
inline constexpr auto kNames<OptimizerKind> = names("momentum", "sgd", "adam", "adamw");

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::momentum;
  double momentum = 0.9;
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_vectors = true;            // false: biases and scales, which have one dimension, do not decay
  std::vector<std::string> no_decay{};  // parameters whose names contain one of these do not decay
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw
  bool biased_epsilon = false;  // adam, adamw: epsilon is added before the bias of the averages is corrected
  /// Scales all gradients when their norm, as one vector, is larger (Pascanu et al., 2013); 0: never.
  double clip_norm = 0;
};

/// Appends the update of `parameter` by `gradient` at `learning_rate` (a scalar of the parameter's
/// type), with its optimizer states, and stores the results.
void build_update(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient,
                  Value learning_rate);

}  // namespace partita
