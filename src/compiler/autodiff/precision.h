#pragma once
// Which values of a step have 16 bits.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/names.h"

namespace partita {

/// f32: no value. bf16, f16: operands and results of products, and what follows from them, as `mixed_precision` says.
enum class MixedPrecision { f32, bf16, f16 };
constexpr auto value_names(MixedPrecision) { return names("f32", "bf16", "f16"); }

/// Digits of the residual stream. half: those of its layers. f32: those of the parameters.
enum class Residual { half, f32 };
constexpr auto value_names(Residual) { return names("half", "f32"); }

/// Type in which sums of parameters' gradients over ranks are sent. f32: their own.
enum class ReduceDType { f32, bf16 };
constexpr auto value_names(ReduceDType) { return names("f32", "bf16"); }

/// The precision of layers, which a path such as "net/head" or "net/h/0..5" names (`matches_layer`), or of a scope.
struct LayerPrecision {
  std::string layers;
  MixedPrecision precision = MixedPrecision::f32;
  /// Whether `layers` is a path, which has to name a forward node. Otherwise it is a scope, which may have no nodes.
  bool is_required = true;
};

struct PrecisionOptions {
  MixedPrecision precision = MixedPrecision::f32;  // precision of layers that `layers` does not name
  /// Precisions of layers. If several paths name a node, the one with the most parts counts.
  std::vector<LayerPrecision> layers = {};
  Residual residual = Residual::half;
  /// Type in which sums of parameters' gradients over ranks are sent, if they are f32: bf16, or none for their own.
  std::optional<DType> reductions = std::nullopt;
};

/// Whether a layer may have the precision.
inline bool uses(const PrecisionOptions& options, MixedPrecision precision) {
  return options.precision == precision ||
         std::ranges::any_of(options.layers, [&](const LayerPrecision& layer) { return layer.precision == precision; });
}

/// Whether a layer may have 16 bits.
inline bool has_halves(const PrecisionOptions& options) {
  return uses(options, MixedPrecision::bf16) || uses(options, MixedPrecision::f16);
}

}  // namespace partita
