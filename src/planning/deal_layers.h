#pragma once
// Which layers each pipeline stage gets.

#include <cstdint>
#include <vector>

namespace partita {

/// One copy of a unit of layers, in the order of the network.
struct DealtLayer {
  size_t unit = 0;
  double seconds = 0;
  bool repeated = false;
};

/// Contiguous stages: the first layer of each and, at the end, the number of layers. When the repeated layers divide by
/// the stages each gets as many, with what stands in front and behind at the ends; otherwise the largest sum of seconds
/// is the least that there can be. Throws InvalidArgument for more stages than layers.
std::vector<size_t> deal_layers(const std::vector<DealtLayer>& layers, int64_t stages);

}  // namespace partita
