#pragma once

#include "network/layer.h"

namespace partita {

struct RowNormOptions {
  double epsilon = 1e-5;
};

/// (x - mean) * rstd * weight + bias over the last dimension of x[.., z] (Ba et al., 2016).
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(RowNormOptions options = {}, SourceLocation where = SourceLocation::current())
      : Layer(where), options_(options) {}
  Value construct(Context& context, Value x) override;

 private:
  RowNormOptions options_;
};

/// x * rstd * weight over the last dimension, rstd of the mean square (Zhang and Sennrich, 2019).
class RmsNorm : public Layer {
 public:
  explicit RmsNorm(RowNormOptions options = {}, SourceLocation where = SourceLocation::current())
      : Layer(where), options_(options) {}
  Value construct(Context& context, Value x) override;

 private:
  RowNormOptions options_;
};

inline LayerPtr layer_norm(RowNormOptions options = {}, SourceLocation where = SourceLocation::current()) {
  return std::make_shared<LayerNorm>(options, where);
}
inline LayerPtr rms_norm(RowNormOptions options = {}, SourceLocation where = SourceLocation::current()) {
  return std::make_shared<RmsNorm>(options, where);
}

}  // namespace partita
