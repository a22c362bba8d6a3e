#include "network/layers/sequential.h"

namespace partita {

Sequential::Sequential(std::vector<LayerPtr> layers, std::source_location where) : Layer(where) {
  for (size_t i = 0; i < layers.size(); ++i) layers_.emplace_back(std::to_string(i), std::move(layers[i]));
}

Value Sequential::construct(Context& context, Value x) {
  for (const auto& [name, layer] : layers_) x = context.call(name, *layer, x);
  return x;
}

}  // namespace partita
