#pragma once
// Attributes of conv2d and its two gradients.

#include "base/fields.h"
#include "ir/graph/emit_call.h"

namespace partita {

/// Attributes for x[n, g*c, h, w] and w[g*o, c, p, q]. `stride` and `dilation`: height, width. `pads`: top, left,
/// bottom, right, which may differ.
struct Conv2dAttrs {
  std::vector<int64_t> stride{1, 1}, dilation{1, 1}, pads{0, 0, 0, 0};
  int64_t groups = 1;
  static constexpr auto fields() {
    return std::tuple{field("stride", &Conv2dAttrs::stride), field("dilation", &Conv2dAttrs::dilation),
                      field("pads", &Conv2dAttrs::pads), field("groups", &Conv2dAttrs::groups)};
  }
};

/// `size`: height and width of x.
struct Conv2dGradInputAttrs : Conv2dAttrs {
  std::vector<int64_t> size{1, 1};
  static constexpr auto fields() {
    return std::tuple_cat(Conv2dAttrs::fields(), std::tuple{field("size", &Conv2dGradInputAttrs::size)});
  }
};

/// `kernel`: height and width of the filter.
struct Conv2dGradFilterAttrs : Conv2dAttrs {
  std::vector<int64_t> kernel{1, 1};
  static constexpr auto fields() {
    return std::tuple_cat(Conv2dAttrs::fields(), std::tuple{field("kernel", &Conv2dGradFilterAttrs::kernel)});
  }
};

/// Write the convolution and its gradients as StableHLO.
std::vector<Hlo> emit_conv2d(const EmitCall& call);
std::vector<Hlo> emit_conv2d_grad_input(const EmitCall& call);
std::vector<Hlo> emit_conv2d_grad_filter(const EmitCall& call);

}  // namespace partita
