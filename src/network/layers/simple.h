#pragma once
// Layers without parameters that are one op.

#include "network/layer.h"

namespace partita {

class Relu : public Layer {
 public:
  explicit Relu(SourceLocation where = SourceLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override { return context.builder().apply("relu", {x}); }
};

class Tanh : public Layer {
 public:
  explicit Tanh(SourceLocation where = SourceLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override { return context.builder().apply("tanh", {x}); }
};

class Sigmoid : public Layer {
 public:
  explicit Sigmoid(SourceLocation where = SourceLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override { return context.builder().apply("sigmoid", {x}); }
};

/// [n, a, b, ..] -> [n, a * b * ..]
class Flatten : public Layer {
 public:
  explicit Flatten(SourceLocation where = SourceLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override {
    const Shape shape = x.shape();
    if (shape.size() < 2) {
      throw InvalidArgument(fmt::format("[flatten] too few dimensions, got {}, expected [n, ..]", print(x.type())));
    }
    const Shape flat{shape[0], shape[0] == 0 ? 0 : elements(shape) / shape[0]};
    return context.builder().apply_fields("reshape", {x}, {{"shape", to_text(flat)}});
  }
};

inline LayerPtr relu_layer(SourceLocation where = SourceLocation::current()) { return std::make_shared<Relu>(where); }
inline LayerPtr tanh_layer(SourceLocation where = SourceLocation::current()) { return std::make_shared<Tanh>(where); }
inline LayerPtr sigmoid_layer(SourceLocation where = SourceLocation::current()) {
  return std::make_shared<Sigmoid>(where);
}
inline LayerPtr flatten(SourceLocation where = SourceLocation::current()) { return std::make_shared<Flatten>(where); }

}  // namespace partita
