#pragma once
// Assignment of layers to pipeline stages.

#include <cstdint>
#include <vector>

#include "base/names.h"

namespace partita {

/// One copy of a unit of layers, in the order of the network.
struct AssignedLayer {
  size_t unit = 0;        // index of the unit in the folded graph
  double seconds = 0;     // seconds of a micro-batch
  bool repeated = false;  // whether it is one of several copies
};

/// How layers are assigned to stages. even: each stage gets the same number of repeated layers; the layers before and
/// after these go to the first and the last stage. balanced: the slowest stage takes the least possible time. Among
/// such assignments the first stages, which keep more micro-batches, get the fewest layers. If no layer is repeated or
/// the number of stages does not divide the repeated ones, `even` means `balanced`.
enum class LayerSplit { even, balanced };
constexpr auto value_names(LayerSplit) { return names("even", "balanced"); }

/// Assigns layers to contiguous stages, each of which gets at least one. Returns the first layer of each stage and,
/// last, the number of layers. Throws InvalidArgument if there are more stages than layers.
std::vector<size_t> assign_layers(const std::vector<AssignedLayer>& layers, int64_t stages, LayerSplit split);

}  // namespace partita
