#pragma once

#include "frontend/network/initializers.h"
#include "frontend/network/layer.h"
#include "frontend/network/layers/window.h"

namespace partita {

struct Conv2dOptions {
  std::vector<int64_t> stride{1, 1}, dilation{1, 1};  // height, width
  Padding padding = Padding::valid;
  std::vector<int64_t> pads{0, 0, 0, 0};  // top, left, bottom, right, for Padding::explicit_
  int64_t groups = 1;
  bool bias = true;
  InitRule init = Init::he_normal;
  InitRule bias_init = Init::zeros;
};

/// 2-D convolution: y[n, out, h', w'] from x[n, in, h, w] and weight[out, in / groups, kernel height, kernel width].
/// `same` keeps ceil(size / stride) rows and columns; an odd padding has its extra element below and to the right.
/// `construct` throws InvalidArgument unless x has four dimensions, kernel, stride and dilation are two numbers from 1
/// to 2^31 - 1 each, `pads` four from 0 on, the kernel fits into the padded image, and `groups` divides both numbers of
/// channels.
class Conv2d : public Layer {
 public:
  Conv2d(int64_t channels, int64_t kernel, Conv2dOptions options = {}, CallLocation where = CallLocation::current())
      : Conv2d(channels, std::vector<int64_t>{kernel, kernel}, std::move(options), where) {}
  /// `kernel`: height and width, which `construct` checks.
  Conv2d(int64_t channels, std::vector<int64_t> kernel, Conv2dOptions options = {},
         CallLocation where = CallLocation::current())
      : Layer(where), channels_(channels), kernel_(std::move(kernel)), options_(std::move(options)) {}
  Value construct(Context& context, Value x) override;

 private:
  int64_t channels_;
  std::vector<int64_t> kernel_;
  Conv2dOptions options_;
};

inline LayerPtr conv2d(int64_t channels, int64_t kernel, Conv2dOptions options = {},
                       CallLocation where = CallLocation::current()) {
  return std::make_shared<Conv2d>(channels, kernel, std::move(options), where);
}
inline LayerPtr conv2d(int64_t channels, std::vector<int64_t> kernel, Conv2dOptions options = {},
                       CallLocation where = CallLocation::current()) {
  return std::make_shared<Conv2d>(channels, std::move(kernel), std::move(options), where);
}

}  // namespace partita
