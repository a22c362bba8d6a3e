#pragma once
// Which layers each pipeline stage gets.

#include <cstdint>
#include <vector>

#include "base/names.h"

namespace partita {

/// One copy of a unit of layers, in the order of the network.
struct DealtLayer {
  size_t unit = 0;
  double seconds = 0;
  bool repeated = false;
};

/// How layers are dealt out to stages. even: each gets as many of the repeated ones, with what stands in front and
/// behind at the ends; balanced, and even where these do not divide: the slowest stage takes as little time as it can,
/// and of such deals the stages in front, which keep more micro-batches, get the fewest layers.
enum class Deal { even, balanced };
template <>
inline constexpr auto kNames<Deal> = names("even", "balanced");

/// Contiguous stages: the first layer of each and, at the end, the number of layers. Throws InvalidArgument for more
/// stages than layers.
std::vector<size_t> deal_layers(const std::vector<DealtLayer>& layers, int64_t stages, Deal deal);

}  // namespace partita
