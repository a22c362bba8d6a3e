#pragma once
// Which values of a step have 16 bits.

#include <string>
#include <vector>

#include "base/names.h"

namespace partita {

/// f32: no value. bf16, f16: operands and results of products, and what follows from them, as `mixed_precision` says.
enum class MixedPrecision { f32, bf16, f16 };
template <>
inline constexpr auto kNames<MixedPrecision> = names("f32", "bf16", "f16");

/// The precision of the layers in a scope, such as "net/head".
struct LayerPrecision {
  std::string layers;
  MixedPrecision precision = MixedPrecision::f32;
  bool is_required = true;  // whether a forward node has to be there
};

struct PrecisionOptions {
  MixedPrecision precision = MixedPrecision::f32;  // precision of nodes that are in none of `layers`
  /// The innermost scope that contains a node counts.
  std::vector<LayerPrecision> layers = {};
};

}  // namespace partita
