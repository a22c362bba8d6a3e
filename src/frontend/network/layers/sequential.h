#pragma once

#include <functional>

#include "frontend/network/layer.h"

namespace partita {

/// Layers in sequence: each gets the result of the one before it. Children are called "0", "1", ... or by the given
/// names. The constructors throw InvalidArgument for an empty pointer.
class Sequential : public Layer {
 public:
  explicit Sequential(std::vector<LayerPtr> layers, CallLocation where = CallLocation::current());
  explicit Sequential(std::vector<std::pair<std::string, LayerPtr>> layers,
                      CallLocation where = CallLocation::current())
      : Layer(where), layers_(std::move(layers)) {
    require_layers();
  }
  Value construct(Context& context, Value x) override;

 private:
  /// Checks that no layer is an empty pointer. Throws InvalidArgument otherwise.
  void require_layers() const;

  std::vector<std::pair<std::string, LayerPtr>> layers_;
};

inline LayerPtr sequential(std::vector<LayerPtr> layers, CallLocation where = CallLocation::current()) {
  return std::make_shared<Sequential>(std::move(layers), where);
}
inline LayerPtr sequential(std::vector<std::pair<std::string, LayerPtr>> layers,
                           CallLocation where = CallLocation::current()) {
  return std::make_shared<Sequential>(std::move(layers), where);
}

/// A layer made from a function over symbolic values. Throws InvalidArgument for an empty function.
class Lambda : public Layer {
 public:
  using Construct = std::function<Value(Context&, Value)>;
  explicit Lambda(Construct construct, CallLocation where = CallLocation::current());
  Value construct(Context& context, Value x) override { return construct_(context, x); }

 private:
  Construct construct_;
};

inline LayerPtr lambda(Lambda::Construct construct, CallLocation where = CallLocation::current()) {
  return std::make_shared<Lambda>(std::move(construct), where);
}

}  // namespace partita
