#include "planning/deal_layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita {
namespace {

/// Stages filled up to a number of seconds, each leaving at least one layer to those behind it; empty when they do not
/// hold all layers.
std::vector<size_t> filled(const std::vector<DealtLayer>& layers, size_t stages, double most) {
  std::vector<size_t> begins;
  size_t next = 0;
  for (size_t stage = 0; stage < stages; ++stage) {
    begins.push_back(next);
    const size_t last = layers.size() - (stages - stage - 1);
    double sum = 0;
    const size_t begin = next;
    while (next < last && (next == begin || sum + layers[next].seconds <= most)) sum += layers[next++].seconds;
    if (sum > most) return {};
  }
  if (next < layers.size()) return {};
  begins.push_back(next);
  return begins;
}

std::vector<size_t> balanced(const std::vector<DealtLayer>& layers, size_t stages) {
  double low = 0, high = 0;
  for (const DealtLayer& layer : layers) {
    low = std::max(low, layer.seconds);
    high += layer.seconds;
  }
  if (std::vector<size_t> begins = filled(layers, stages, low); !begins.empty()) return begins;
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (filled(layers, stages, middle).empty() ? low : high) = middle;
  }
  return filled(layers, stages, high);
}

}  // namespace

std::vector<size_t> deal_layers(const std::vector<DealtLayer>& layers, int64_t stages) {
  const auto count = static_cast<size_t>(stages);
  if (count > layers.size()) {
    throw InvalidArgument(
        fmt::format("[--fixed] more stages than layers, got {}, expected at most {}", stages, layers.size()));
  }
  const auto repeated = static_cast<size_t>(
      std::count_if(layers.begin(), layers.end(), [](const DealtLayer& layer) { return layer.repeated; }));
  if (repeated == 0 || repeated % count != 0) return balanced(layers, count);
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
