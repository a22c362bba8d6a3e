#pragma once
// Optimizers as graph builders: each appends the nodes that update one parameter.

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
  bool decay_vectors = true;            // false: parameters with one dimension (biases, scales) do not decay
  std::vector<std::string> no_decay{};  // parameters whose names contain one of these do not decay
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw
  bool biased_epsilon = false;  // adam, adamw: epsilon is added before bias correction of the averages
  /// Maximum norm of all gradients, taken as one vector; if it is exceeded, all are scaled down (Pascanu et al., 2013).
  /// 0: no clipping. `make_training_graph` applies it, `build_update` does not.
  double clip_norm = 0;
};

/// Appends the update of `parameter` by `gradient` to the builder's graph, creates the optimizer states that it needs,
/// and stores the new parameter and states. `learning_rate` is a scalar of the parameter's type. Adam also needs the
/// counter "step", which `make_training_graph` increments. Throws InvalidArgument for operands of other types and for a
/// parameter that was stored before.
void build_update(Builder& builder, const OptimizerOptions& options, Value parameter, Value gradient,
                  Value learning_rate);

}  // namespace partita
