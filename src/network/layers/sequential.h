#pragma once

#include <functional>

#include "network/layer.h"

namespace partita {

/// Layers one after the other; children are called "0", "1", ... or by the names given.
class Sequential : public Layer {
 public:
  explicit Sequential(std::vector<LayerPtr> layers, SourceLocation where = SourceLocation::current());
  explicit Sequential(std::vector<std::pair<std::string, LayerPtr>> layers,
                      SourceLocation where = SourceLocation::current())
      : Layer(where), layers_(std::move(layers)) {
    require_layers();
  }
  Value construct(Context& context, Value x) override;

 private:
  /// Throws InvalidArgument for an empty pointer.
  void require_layers() const;

  std::vector<std::pair<std::string, LayerPtr>> layers_;
};

inline LayerPtr sequential(std::vector<LayerPtr> layers, SourceLocation where = SourceLocation::current()) {
  return std::make_shared<Sequential>(std::move(layers), where);
}
inline LayerPtr sequential(std::vector<std::pair<std::string, LayerPtr>> layers,
                           SourceLocation where = SourceLocation::current()) {
  return std::make_shared<Sequential>(std::move(layers), where);
}

/// A layer from a function over symbolic values.
class Lambda : public Layer {
 public:
  using Construct = std::function<Value(Context&, Value)>;
  explicit Lambda(Construct construct, SourceLocation where = SourceLocation::current());
  Value construct(Context& context, Value x) override { return construct_(context, x); }

 private:
  Construct construct_;
};

inline LayerPtr lambda(Lambda::Construct construct, SourceLocation where = SourceLocation::current()) {
  return std::make_shared<Lambda>(std::move(construct), where);
}

}  // namespace partita
