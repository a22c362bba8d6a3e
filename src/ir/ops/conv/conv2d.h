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

/// Attributes as in Conv2dAttrs; `size`: height and width of x.
struct Conv2dGradInputAttrs {
  std::vector<int64_t> stride{1, 1}, dilation{1, 1}, pads{0, 0, 0, 0};
  int64_t groups = 1;
  std::vector<int64_t> size{1, 1};
  static constexpr auto fields() {
    using A = Conv2dGradInputAttrs;
    return std::tuple{field("stride", &A::stride), field("dilation", &A::dilation), field("pads", &A::pads),
                      field("groups", &A::groups), field("size", &A::size)};
  }
};

/// Attributes as in Conv2dAttrs; `kernel`: height and width of the filter.
struct Conv2dGradFilterAttrs {
  std::vector<int64_t> stride{1, 1}, dilation{1, 1}, pads{0, 0, 0, 0};
  int64_t groups = 1;
  std::vector<int64_t> kernel{1, 1};
  static constexpr auto fields() {
    using A = Conv2dGradFilterAttrs;
    return std::tuple{field("stride", &A::stride), field("dilation", &A::dilation), field("pads", &A::pads),
                      field("groups", &A::groups), field("kernel", &A::kernel)};
  }
};

/// Write the convolution and its gradients as StableHLO.
std::vector<Hlo> emit_conv2d(const EmitCall& call);
std::vector<Hlo> emit_conv2d_grad_input(const EmitCall& call);
std::vector<Hlo> emit_conv2d_grad_filter(const EmitCall& call);

}  // namespace partita
