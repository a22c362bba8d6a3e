#pragma once

#include "frontend/network/initializers.h"
#include "frontend/network/layer.h"

namespace partita {

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;    // running = (1 - momentum) * running + momentum * batch
  Init scale = Init::ones;  // initial scale; zeros for the last norm of a residual block
};

/// Batch normalization of x[n, c] or x[n, c, h, w] per channel. A training uses the statistics of the batch (of each
/// group of rows, if the context asks for groups) and updates running ones, which an evaluation uses. `construct`
/// throws InvalidArgument for an x of other dimensions, and if the batch does not divide into the groups.
class BatchNorm2d : public Layer {
 public:
  explicit BatchNorm2d(BatchNormOptions options = {}, CallLocation where = CallLocation::current())
      : Layer(where), options_(std::move(options)) {}
  Value construct(Context& context, Value x) override;

 private:
  BatchNormOptions options_;
};

struct RowNormOptions {
  double epsilon = 1e-5;
};

/// (x - mean) * rstd * weight + bias over the last dimension of x[.., z] (Ba et al., 2016).
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(RowNormOptions options = {}, CallLocation where = CallLocation::current())
      : Layer(where), options_(options) {}
  Value construct(Context& context, Value x) override;

 private:
  RowNormOptions options_;
};

/// x * rstd * weight over the last dimension, where rstd is that of the mean square (Zhang and Sennrich, 2019).
class RmsNorm : public Layer {
 public:
  explicit RmsNorm(RowNormOptions options = {}, CallLocation where = CallLocation::current())
      : Layer(where), options_(options) {}
  Value construct(Context& context, Value x) override;

 private:
  RowNormOptions options_;
};

inline LayerPtr batch_norm(BatchNormOptions options = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<BatchNorm2d>(std::move(options), where);
}
inline LayerPtr layer_norm(RowNormOptions options = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<LayerNorm>(options, where);
}
inline LayerPtr rms_norm(RowNormOptions options = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<RmsNorm>(options, where);
}

}  // namespace partita
