#pragma once
// Attributes and emissions of max_pool, avg_pool and their gradients.

#include "base/fields.h"
#include "ir/ops/support.h"
#include "ir/ops/window.h"

namespace partita {

/// `kernel` and `stride`: height, width. `pads`: top, left, bottom, right, each below the kernel size.
struct PoolAttrs {
  std::vector<int64_t> kernel{1, 1}, stride{1, 1}, pads{0, 0, 0, 0};
  static constexpr auto fields() {
    return std::tuple{field("kernel", &PoolAttrs::kernel), field("stride", &PoolAttrs::stride),
                      field("pads", &PoolAttrs::pads)};
  }
};

using MaxPoolAttrs = PoolAttrs;

/// `size`: height and width of the pooled tensor.
struct MaxPoolGradAttrs : PoolAttrs {
  std::vector<int64_t> size{1, 1};
  static constexpr auto fields() {
    return std::tuple_cat(PoolAttrs::fields(), std::tuple{field("size", &MaxPoolGradAttrs::size)});
  }
};

/// `count_include_pad`: whether to divide by the kernel size everywhere, or by the number of elements that are not
/// padding.
struct AvgPoolAttrs : PoolAttrs {
  bool count_include_pad = true;
  static constexpr auto fields() {
    return std::tuple_cat(PoolAttrs::fields(),
                          std::tuple{field("count_include_pad", &AvgPoolAttrs::count_include_pad)});
  }
};

/// `size`: rows and columns of the result. They start at `begin` of a pooled tensor of `whole`, so that a shard knows
/// which elements under a window are padding.
struct AvgPoolGradAttrs : AvgPoolAttrs {
  std::vector<int64_t> size{1, 1}, begin{0, 0}, whole{1, 1};
  static constexpr auto fields() {
    using A = AvgPoolGradAttrs;
    return std::tuple_cat(AvgPoolAttrs::fields(),
                          std::tuple{field("size", &A::size), field("begin", &A::begin), field("whole", &A::whole)});
  }
};

/// Returns the windows of an op. Throws as `make_spans` does.
inline Spans pool_spans(std::string_view op, const PoolAttrs& attrs) {
  return make_spans(op, attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
}

/// Returns an op over x[n, c, h, w], with what poolings share: its results are `results` in the shorthand of a rule.
template <class A>
OpDef pool_op(const char* name, const char* summary, const std::string& results) {
  OpDef op = new_op(name, summary, {.count = 1, .floats = {0}, .ranks = {{0, 4}}}, A{}, kFollowsHalves);
  op.rule = [=](const OpCall& call) {
    const Spans spans = pool_spans(name, call.attrs.as<A>());
    return einsum("nc[h][w]->" + results, call, {}, {spans.h.window(), spans.w.window()});
  };
  // A shard holds every element under its windows, so everything outside its part is padding.
  op.localize = localized<A>([=](A& attrs, const Shard& shard) {
    localize_window(attrs, pool_spans(name, attrs), shard.inputs[0], shard.outputs[0]);
  });
  return op;
}

/// Returns the shape of the pooled x. Throws InvalidArgument if the padding is too large or no window fits.
inline Shape pooled_shape(const std::string& op, const PoolAttrs& attrs, const Shape& x) {
  const Spans spans = pool_spans(op, attrs);
  require_pool_pads(op, spans);
  return checked_shape(op, spans, x, x[1]);
}

/// Returns the op of the gradient of x[n, c, h, w], with what poolings share, from `operands` tensors like the pooled
/// one. It is linear in the first.
template <class A>
OpDef pool_grad_op(const char* name, const char* summary, size_t operands) {
  OpDef op = new_op(name, summary, {.count = operands, .floats = {0}, .ranks = {{0, 4}}}, A{}, kFollowsHalves);
  op.rule = [=](const OpCall& call) {
    const Spans spans = pool_spans(name, call.attrs.as<A>());
    std::string text;
    std::vector<Window> windows;
    for (size_t i = 0; i < operands; ++i) {
      text += i == 0 ? "nc<h><w>" : ",nc<h><w>";
      windows.insert(windows.end(), {spans.h.window(true), spans.w.window(true)});
    }
    return einsum(text + "->nchw", call, {}, windows).linear_in({0});
  };
  op.localize = localized<A>([=](A& attrs, const Shard& shard) {
    localize_grad_window(attrs, pool_spans(name, attrs), shard.inputs[0], shard.outputs[0]);
  });
  return op;
}

/// Returns the type of the gradient d_x[n, c, h, w] of `size`, height and width, from d_y. Throws InvalidArgument if
/// they do not fit.
inline Type pool_grad_type(const std::string& op, const PoolAttrs& attrs, const std::vector<int64_t>& size,
                           const Type& d_y) {
  require_grad_size(op, pool_spans(op, attrs), size, d_y.shape);
  return {d_y.dtype, {d_y.shape[0], d_y.shape[1], size[0], size[1]}};
}

/// Write the ops as StableHLO.
std::vector<Hlo> emit_max_pool(const EmitCall& call);
std::vector<Hlo> emit_max_pool_grad(const EmitCall& call);
std::vector<Hlo> emit_avg_pool(const EmitCall& call);
std::vector<Hlo> emit_avg_pool_grad(const EmitCall& call);

}  // namespace partita
