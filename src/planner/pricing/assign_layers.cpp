#include "planner/pricing/assign_layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita {
namespace {

constexpr double kPrecision = 1e-12;  // relative precision of sums of seconds

/// Fills stages up to `most` seconds, from the last one on, each with at least one layer. Each leaves at least one to
/// every stage before it. Returns the first layer of each stage and, last, the number of layers; empty if not all
/// layers fit.
std::vector<size_t> filled(const std::vector<AssignedLayer>& layers, size_t stages, double most) {
  most *= 1 + kPrecision;
  std::vector<size_t> begins(stages + 1, layers.size());
  size_t next = layers.size();
  for (size_t stage = stages; stage-- > 0;) {
    double sum = 0;
    const size_t end = next;
    while (next > stage && (next == end || sum + layers[next - 1].seconds <= most)) sum += layers[--next].seconds;
    if (sum > most) return {};
    begins[stage] = next;
  }
  if (next > 0) return {};
  return begins;
}

/// Returns the first layer of each stage and, last, the number of layers. Minimises the time of the slowest stage by
/// bisection.
std::vector<size_t> balanced(const std::vector<AssignedLayer>& layers, size_t stages) {
  double low = 0, high = 0;
  for (const AssignedLayer& layer : layers) {
    low = std::max(low, layer.seconds);
    high += layer.seconds;
  }
  low = std::max(low, high / static_cast<double>(stages));
  if (std::vector<size_t> begins = filled(layers, stages, low); !begins.empty()) return begins;
  while (high - low > kPrecision * high) {
    const double middle = (low + high) / 2;
    (filled(layers, stages, middle).empty() ? low : high) = middle;
  }
  return filled(layers, stages, high);
}

}  // namespace

std::vector<size_t> assign_layers(const std::vector<AssignedLayer>& layers, int64_t stages, LayerSplit split) {
  const auto count = static_cast<size_t>(stages);
  if (count > layers.size()) {
    throw InvalidArgument(
        fmt::format("[pipeline] more stages than layers, got {}, expected at most {}: a plan moves whole layers, which "
                    "are blocks that repeat and what comes before and after them; stages of partita train without a "
                    "plan may have one node each",
                    stages, layers.size()));
  }
  const auto repeated = static_cast<size_t>(
      std::count_if(layers.begin(), layers.end(), [](const AssignedLayer& layer) { return layer.repeated; }));
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
