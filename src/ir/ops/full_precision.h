#pragma once
// Attributes of products in StableHLO that keep all digits of f32: otherwise plugins for GPUs round the operands to 10
// binary digits (TF32).

#include <string_view>

namespace partita {

/// Attribute of a dot_general, which follows its dimensions.
inline constexpr std::string_view kFullPrecision = ", precision = [HIGHEST, HIGHEST]";
/// Attribute of a convolution.
inline constexpr std::string_view kFullPrecisionOfConvolution =
    "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";

}  // namespace partita
