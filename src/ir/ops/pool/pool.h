#pragma once
// Attributes and emissions of max_pool, avg_pool and their gradients.

#include "base/fields.h"
#include "ir/graph/op_def.h"

namespace partita {

/// `kernel` and `stride`: height, width. `pads`: top, left, bottom, right, each below the kernel size.
struct MaxPoolAttrs {
  std::vector<int64_t> kernel{1, 1}, stride{1, 1}, pads{0, 0, 0, 0};
  static constexpr auto fields() {
    return std::tuple{field("kernel", &MaxPoolAttrs::kernel), field("stride", &MaxPoolAttrs::stride),
                      field("pads", &MaxPoolAttrs::pads)};
  }
};

/// `size`: height and width of the pooled tensor.
struct MaxPoolGradAttrs {
  std::vector<int64_t> kernel{1, 1}, stride{1, 1}, pads{0, 0, 0, 0}, size{1, 1};
  static constexpr auto fields() {
    using A = MaxPoolGradAttrs;
    return std::tuple{field("kernel", &A::kernel), field("stride", &A::stride), field("pads", &A::pads),
                      field("size", &A::size)};
  }
};

/// `count_include_pad`: whether to divide by the kernel size everywhere, or by the number of elements that are not
/// padding.
struct AvgPoolAttrs {
  std::vector<int64_t> kernel{1, 1}, stride{1, 1}, pads{0, 0, 0, 0};
  bool count_include_pad = true;
  static constexpr auto fields() {
    using A = AvgPoolAttrs;
    return std::tuple{field("kernel", &A::kernel), field("stride", &A::stride), field("pads", &A::pads),
                      field("count_include_pad", &A::count_include_pad)};
  }
};

/// `size`: rows and columns of the result. They start at `begin` of a pooled tensor of `whole`, so that a shard knows
/// which elements under a window are padding.
struct AvgPoolGradAttrs {
  std::vector<int64_t> kernel{1, 1}, stride{1, 1}, pads{0, 0, 0, 0};
  bool count_include_pad = true;
  std::vector<int64_t> size{1, 1}, begin{0, 0}, whole{1, 1};
  static constexpr auto fields() {
    using A = AvgPoolGradAttrs;
    return std::tuple{field("kernel", &A::kernel), field("stride", &A::stride),
                      field("pads", &A::pads),     field("count_include_pad", &A::count_include_pad),
                      field("size", &A::size),     field("begin", &A::begin),
                      field("whole", &A::whole)};
  }
};

/// Write the ops as StableHLO.
std::vector<Hlo> emit_max_pool(const EmitCall& call);
std::vector<Hlo> emit_max_pool_grad(const EmitCall& call);
std::vector<Hlo> emit_avg_pool(const EmitCall& call);
std::vector<Hlo> emit_avg_pool_grad(const EmitCall& call);

}  // namespace partita
