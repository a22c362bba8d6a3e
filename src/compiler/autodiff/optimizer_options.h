#pragma once
// Options of the optimizers (compiler/autodiff/optimizer.h).

#include <string>
#include <vector>

#include "base/names.h"

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

}  // namespace partita
