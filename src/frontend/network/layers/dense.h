#pragma once

#include "frontend/network/initializers.h"
#include "frontend/network/layer.h"

namespace partita {

struct DenseOptions {
  bool bias = true;
  InitRule init = Init::he_normal;
  InitRule bias_init = Init::zeros;
  bool trains_bias = true;  // false: the bias stays as it is
};

/// y = x weight^T + bias (with `bias`) for x[.., in], weight[units, in], bias[units]; `in` is taken from x. `construct`
/// throws InvalidArgument for fewer than two dimensions.
class Dense : public Layer {
 public:
  explicit Dense(int64_t units, DenseOptions options = {}, CallLocation where = CallLocation::current())
      : Layer(where), units_(units), options_(std::move(options)) {}
  Value construct(Context& context, Value x) override;

 private:
  int64_t units_;
  DenseOptions options_;
};

inline LayerPtr dense(int64_t units, DenseOptions options = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<Dense>(units, std::move(options), where);
}

}  // namespace partita
