#pragma once

#include "frontend/network/layer.h"
#include "frontend/network/layers/window.h"

namespace partita {

struct PoolOptions {
  int64_t stride = 0;             // 0 = the kernel's size
  int64_t padding = 0;            // on each side
  bool same = false;              // instead of `padding`: as much as keeps ceil(size / stride) rows and columns
  bool count_include_pad = true;  // for averages: whether padding counts as zeros
};

/// A pooling of each kernel x kernel window.
class Pool2d : public Layer {
 public:
  explicit Pool2d(int64_t kernel, PoolOptions options = {}, CallLocation where = CallLocation::current())
      : Layer(where), kernel_(kernel), options_(options) {}

 protected:
  int64_t kernel_;
  PoolOptions options_;
};

/// The largest element under each kernel x kernel window of x[n, c, h, w]: [n, c, h', w']. `construct` throws
/// InvalidArgument for other dimensions, and for windows, strides and paddings that do not fit x.
class MaxPool2d : public Pool2d {
 public:
  using Pool2d::Pool2d;
  Value construct(Context& context, Value x) override;
};

/// The mean under each kernel x kernel window of x[n, c, h, w]: [n, c, h', w']. `construct` throws InvalidArgument for
/// other dimensions, and for windows, strides and paddings that do not fit x.
class AvgPool2d : public Pool2d {
 public:
  using Pool2d::Pool2d;
  Value construct(Context& context, Value x) override;
};

/// The mean of x[n, c, h, w] over height and width: [n, c]. `construct` throws InvalidArgument for other dimensions.
class GlobalAvgPool : public Layer {
 public:
  explicit GlobalAvgPool(CallLocation where = CallLocation::current()) : Layer(where) {}
  Value construct(Context& context, Value x) override;
};

inline LayerPtr max_pool(int64_t kernel, PoolOptions options = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<MaxPool2d>(kernel, options, where);
}
inline LayerPtr avg_pool(int64_t kernel, PoolOptions options = {}, CallLocation where = CallLocation::current()) {
  return std::make_shared<AvgPool2d>(kernel, options, where);
}
inline LayerPtr global_avg_pool(CallLocation where = CallLocation::current()) {
  return std::make_shared<GlobalAvgPool>(where);
}

}  // namespace partita
