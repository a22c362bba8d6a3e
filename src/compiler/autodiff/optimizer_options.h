#pragma once
// Options of the optimizers (compiler/autodiff/optimizer.h).

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace partita {

/// The name of an optimizer of ir/optimizers. Any may be given by its name, a text that lives as long as the program:
/// `.kind = "muon"`.
struct OptimizerKind {
  std::string_view name;

  constexpr OptimizerKind(const char* name) : name(name) {}  // NOLINT: a name is a kind
  constexpr explicit OptimizerKind(std::string_view name) : name(name) {}
  bool operator==(const OptimizerKind&) const = default;

  static const OptimizerKind momentum, sgd, adam, adamw;
};
inline constexpr OptimizerKind OptimizerKind::momentum{"momentum"};
inline constexpr OptimizerKind OptimizerKind::sgd{"sgd"};
inline constexpr OptimizerKind OptimizerKind::adam{"adam"};
inline constexpr OptimizerKind OptimizerKind::adamw{"adamw"};

/// Returns the name of the optimizer.
inline std::string_view name_of(const OptimizerKind& kind) { return kind.name; }

/// Options of an optimizer. Those that are optional and not given have the optimizer's default.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::momentum;
  std::optional<double> momentum{}, dampening{};
  std::optional<bool> nesterov{};
  double weight_decay = 0;
  bool decay_vectors = true;            // false: parameters with one dimension (biases, scales) do not decay
  std::vector<std::string> no_decay{};  // parameters whose names contain one of these do not decay
  /// Factors of the learning rate (rate_factors): "h.0.*=0.1". `make_training_graph` applies them.
  std::vector<std::string> rate_of{};
  std::optional<double> beta1{}, beta2{}, epsilon{};
  std::optional<bool> biased_epsilon{};  // adam, adamw: epsilon is added before bias correction of the averages
  /// Maximum norm of all gradients, taken as one vector; if it is exceeded, all are scaled down (Pascanu et al., 2013).
  /// 0: no clipping. `make_training_graph` applies it, `build_update` does not.
  double clip_norm = 0;
  /// Share of itself that the moving average of each trained parameter keeps in a step; 0: no averages.
  /// `make_training_graph` adds them, `build_update` does not.
  double ema = 0;
  /// Options without a field here, by name. A switch is 0 or 1.
  std::map<std::string, double, std::less<>> others{};

  /// Returns the value that is given for an option, which may have a field here or not.
  std::optional<double> given(std::string_view option) const;
  /// Gives an option this value, or none.
  void give(std::string_view option, std::optional<double> value);
};

/// Returns the value of an option in texts of a configuration: the one that is given, else the default of the
/// optimizer, else, for an option of other optimizers, the one of `OptimizerOption::elsewhere`. Throws InvalidArgument
/// for an optimizer that does not exist, InternalError for an option that none has.
double optimizer_number(const OptimizerOptions& options, std::string_view option);

}  // namespace partita
