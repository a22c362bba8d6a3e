#pragma once
// Attributes of StableHLO products that forbid fewer digits than the operands have: without them, plugins for GPUs round
// operands of f32 to 10 digits after the point (TF32).

#include <string_view>

namespace partita {

/// Of a dot_general, after its dimensions.
inline constexpr std::string_view kFullPrecision = ", precision = [HIGHEST, HIGHEST]";
/// Of a convolution, among its attributes.
inline constexpr std::string_view kFullPrecisionOfConvolution =
    "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";

}  // namespace partita
