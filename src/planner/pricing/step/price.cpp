#include "planner/pricing/step/price.h"

namespace partita {

StagePrices::StagePrices(PriceRequest request)
    : costs_(std::move(request)), seconds_(costs_), memory_(costs_, seconds_), bound_(costs_, seconds_) {}

std::vector<StageLayers> StagePrices::layers() const {
  std::vector<StageLayers> layers;
  for (int64_t s = 0; s < stages(); ++s) layers.push_back(costs_.layers_of_stage(s));
  return layers;
}

}  // namespace partita
