#pragma once
// Layers without parameters that are a single op.

#include "frontend/network/layer.h"
#include "ir/ops/shape/attrs.h"

namespace partita {

/// An op of one operand, with its default attributes or given ones: `op_layer("gelu", GeluAttrs{true})`. The name and
/// the attributes are checked when it is built.
class OpLayer : public Layer {
 public:
  explicit OpLayer(std::string op, Attrs attrs = {}, CallLocation where = CallLocation::current())
      : Layer(where), op_(std::move(op)), attrs_(std::move(attrs)) {}
  Value construct(Context& context, Value x) override { return context.builder().apply(op_, {x}, attrs_); }

 private:
  std::string op_;
  Attrs attrs_;
};

/// Reshapes [n, a, b, ..] to [n, a * b * ..]. `construct` throws InvalidArgument for fewer than two dimensions.
class Flatten : public Layer {
 public:
  explicit Flatten(CallLocation where = CallLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override {
    const Shape shape = x.shape();
    if (shape.size() < 2) {
      throw InvalidArgument("[flatten] too few dimensions, got {}, expected [n, ..]", print(x.type()));
    }
    const Shape flat{shape[0], shape[0] == 0 ? 0 : elements(shape) / shape[0]};
    return context.builder().apply("reshape", {x}, ReshapeAttrs{.shape = flat});
  }
};

inline LayerPtr op_layer(std::string op, Attrs attrs = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<OpLayer>(std::move(op), std::move(attrs), where);
}
inline LayerPtr relu_layer(CallLocation where = CallLocation::current()) { return op_layer("relu", {}, where); }
inline LayerPtr tanh_layer(CallLocation where = CallLocation::current()) { return op_layer("tanh", {}, where); }
inline LayerPtr sigmoid_layer(CallLocation where = CallLocation::current()) { return op_layer("sigmoid", {}, where); }
inline LayerPtr flatten(CallLocation where = CallLocation::current()) { return std::make_shared<Flatten>(where); }

}  // namespace partita
