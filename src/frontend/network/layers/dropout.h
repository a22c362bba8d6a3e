#pragma once

#include "frontend/network/layer.h"

namespace partita {

/// Zeroes elements with probability `rate` while training, and scales the others by 1 / (1 - rate). The bits depend
/// only on the seed, the layer's name, the number of its earlier calls in the network, the step and the element.
/// `construct` throws InvalidArgument unless 0 <= rate < 1.
class Dropout : public Layer {
 public:
  explicit Dropout(double rate, CallLocation where = CallLocation::current()) : Layer(where), rate_(rate) {}
  Value construct(Context& context, Value x) override;

 private:
  double rate_;
};

inline LayerPtr dropout(double rate, CallLocation where = CallLocation::current()) {
  return std::make_shared<Dropout>(rate, where);
}

}  // namespace partita
