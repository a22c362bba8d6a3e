#include "planner/pricing/layers/assign_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace partita {
namespace {

constexpr double kPrecision = 1e-12;  // relative precision of sums of seconds

/// Fills stages up to `most` seconds, from the last one on, each with at least one layer. Each leaves at least one to
/// every stage before it. Returns the first layer of each stage and, last, the number of layers; empty if not all
/// layers fit. Sets `next` to the smallest limit that gives some stage another layer.
std::vector<size_t> filled(const std::vector<AssignedLayer>& layers, size_t stages, double most, double& next) {
  const double limit = most * (1 + kPrecision);
  std::vector<size_t> begins(stages + 1, layers.size());
  size_t first = layers.size();
  next = std::numeric_limits<double>::infinity();
  for (size_t stage = stages; stage-- > 0;) {
    double sum = layers[--first].seconds;
    for (; first > stage; --first) {
      const double more = sum + layers[first - 1].seconds;
      if (more > limit) {
        next = std::min(next, more);
        break;
      }
      sum = more;
    }
    begins[stage] = first;
  }
  if (first > 0) return {};
  return begins;
}

/// Returns the first layer of each stage and, last, the number of layers. The slowest stage takes the least possible
/// time: of all sums of contiguous layers that may limit a stage, the smallest with which all layers fit.
std::vector<size_t> balanced(const std::vector<AssignedLayer>& layers, size_t stages) {
  double slowest = 0, sum = 0;
  for (const AssignedLayer& layer : layers) {
    slowest = std::max(slowest, layer.seconds);
    sum += layer.seconds;
  }
  double most = std::max(slowest, sum / static_cast<double>(stages)), next = 0;
  for (;;) {
    if (std::vector<size_t> begins = filled(layers, stages, most, next); !begins.empty()) return begins;
    most = next;
  }
}

}  // namespace

std::vector<size_t> assign_layers(const std::vector<AssignedLayer>& layers, int64_t stages, LayerSplit split) {
  const auto count = static_cast<size_t>(stages);
  if (count > layers.size()) {
    throw InvalidArgument(
        "[pipeline] more stages than layers, got {}, expected at most {}: a plan moves whole layers, which are blocks "
        "that repeat and what comes before and after them; stages of partita train without a plan may have one node "
        "each",
        stages, layers.size());
  }
  const auto repeated =
      static_cast<size_t>(std::ranges::count_if(layers, [](const AssignedLayer& layer) { return layer.repeated; }));
  if (split == LayerSplit::balanced || repeated == 0 || repeated % count != 0) return balanced(layers, count);
  std::vector<size_t> begins{0};
  size_t seen = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].repeated) continue;
    if (seen > 0 && seen % (repeated / count) == 0) begins.push_back(i);
    ++seen;
  }
  begins.push_back(layers.size());
  return begins;
}

}  // namespace partita
