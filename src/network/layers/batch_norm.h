#pragma once

#include "network/initializers.h"
#include "network/layer.h"

namespace partita {

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;    // running = (1 - momentum) * running + momentum * batch
  Init scale = Init::ones;  // how the scale begins; zeros for the last one of a residual block
};

/// Batch normalisation of x[n, c] or x[n, c, h, w] per channel. While training it takes the statistics
/// of the batch (of each group of rows, when the context asks for groups) and keeps running ones; the
/// evaluation takes those.
class BatchNorm2d : public Layer {
 public:
  explicit BatchNorm2d(BatchNormOptions options = {}, SourceLocation where = SourceLocation::current())
      : Layer(where), options_(std::move(options)) {}
  Value construct(Context& context, Value x) override;

 private:
  BatchNormOptions options_;
};

inline LayerPtr batch_norm(BatchNormOptions options = {}, SourceLocation where = SourceLocation::current()) {
  return std::make_shared<BatchNorm2d>(std::move(options), where);
}

}  // namespace partita
