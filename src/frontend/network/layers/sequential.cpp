#include "frontend/network/layers/sequential.h"

namespace partita {

Sequential::Sequential(std::vector<LayerPtr> layers, CallLocation where) : Layer(where) {
  for (size_t i = 0; i < layers.size(); ++i) layers_.emplace_back(fmt::to_string(i), std::move(layers[i]));
  require_layers();
}

void Sequential::require_layers() const {
  for (const auto& [name, layer] : layers_) {
    if (layer == nullptr) {
      throw InvalidArgument("[sequential] no layer, got nothing as '{}' at {}:{}, expected a layer", name, where().file,
                            where().line);
    }
  }
}

Value Sequential::construct(Context& context, Value x) {
  for (const auto& [name, layer] : layers_) x = context.call(name, *layer, x);
  return x;
}

Lambda::Lambda(Construct construct, CallLocation where) : Layer(where), construct_(std::move(construct)) {
  if (!construct_) {
    throw InvalidArgument("[lambda] no function, got nothing at {}:{}, expected a callable", this->where().file,
                          this->where().line);
  }
}

}  // namespace partita
