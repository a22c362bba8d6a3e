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

struct PrecisionOptions {
  MixedPrecision precision = MixedPrecision::f32;
  /// Scopes, such as "net/head", whose nodes keep the precision of the parameters.
  std::vector<std::string> full_layers = {};
};

}  // namespace partita
