// Convolutions and their gradients as StableHLO. A gradient is a convolution as well: of d_y with the turned filter,
// with zeros between the elements of d_y where the convolution had a stride; or of x with d_y as the filter.

#include "ir/ops/conv/conv2d.h"
#include "ir/ops/full_precision.h"

namespace partita {
namespace {

/// The window along one dimension: steps of the window, steps between elements of each operand, and padding, which may
/// be negative.
struct HloWindow {
  int64_t stride = 1, between_x = 1, between_w = 1, before = 0, after = 0;
};

/// Number of places that `count` elements take with `step` from each to the next.
int64_t dilated(int64_t count, int64_t step) { return (count - 1) * step + 1; }

/// Sets the padding after the last element, with which a window of `window` places stands in `results` places of
/// `size`. Elements that no place reaches are cut off.
HloWindow padded(HloWindow sizes, int64_t results, int64_t size, int64_t window) {
  sizes.after = (results - 1) * sizes.stride + window - size - sizes.before;
  return sizes;
}

/// Returns the windows of `kernel` over `x`, both [.., h, w], of a convolution with these results.
std::array<HloWindow, 2> windows_over(const Shape& x, const Shape& kernel, const int64_t* results,
                                      const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
                                      const std::vector<int64_t>& pads) {
  std::array<HloWindow, 2> windows;
  for (size_t d = 0; d < 2; ++d) {
    windows[d] = padded({.stride = stride[d], .between_w = dilation[d], .before = pads[d]}, results[d], x[d + 2],
                        dilated(kernel[d + 2], dilation[d]));
  }
  return windows;
}

struct HloGroups {
  int64_t of_features = 1, of_batch = 1;
};

/// Returns the convolution of `x` and `w`. Its result has their type: cuDNN adds products of 16 bits in f32, but gives
/// 16 bits, and XLA converts operands to f32 for a result of f32.
Hlo hlo_convolution(const EmitCall& call, const Hlo& x, const Hlo& w, const std::string& dims,
                    const std::array<HloWindow, 2>& windows, const HloGroups& groups) {
  const auto& [rows, columns] = windows;
  const Type type{x.type.dtype, call.outputs[0].shape};
  const Hlo y = call.body.add(
      fmt::format("stablehlo.convolution({}, {}) dim_numbers = {}, window = {{stride = [{}, {}], pad = [[{}, {}], [{}, "
                  "{}]], lhs_dilate = [{}, {}], rhs_dilate = [{}, {}]}} {{batch_group_count = {} : i64, "
                  "feature_group_count = {} : i64, {}}} : {} -> {}",
                  x.name, w.name, dims, rows.stride, columns.stride, rows.before, rows.after, columns.before,
                  columns.after, rows.between_x, columns.between_x, rows.between_w, columns.between_w, groups.of_batch,
                  groups.of_features, kFullPrecisionOfConvolution, hlo_types({x, w}), hlo_type(type)),
      type);
  return call.convert(y, call.outputs[0].dtype);
}

}  // namespace

std::vector<Hlo> emit_conv2d(const EmitCall& call) {
  const auto& attrs = call.attrs.as<Conv2dAttrs>();
  const Hlo &x = call.inputs[0], &w = call.inputs[1];
  const auto windows = windows_over(x.type.shape, w.type.shape, call.outputs[0].shape.data() + 2, attrs.stride,
                                    attrs.dilation, attrs.pads);
  return {
      hlo_convolution(call, x, w, "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", windows, {.of_features = attrs.groups})};
}

std::vector<Hlo> emit_conv2d_grad_input(const EmitCall& call) {
  const auto& attrs = call.attrs.as<Conv2dGradInputAttrs>();
  const Hlo& d_y = call.inputs[0];
  const Shape& filter = call.inputs[1].type.shape;
  const int64_t groups = attrs.groups, own = filter[0] / groups;
  // w[g*o, c, p, q] as w[g*c, o, p, q], turned by half a circle.
  const Hlo split = call.reshape(call.inputs[1], {groups, own, filter[1], filter[2], filter[3]});
  const Hlo swapped = call.body.add_typed("stablehlo.transpose", {split}, ", dims = [0, 2, 1, 3, 4]",
                                          {split.type.dtype, {groups, filter[1], own, filter[2], filter[3]}});
  const Hlo flat = call.reshape(swapped, {groups * filter[1], own, filter[2], filter[3]});
  const Hlo turned =
      call.body.add(fmt::format("stablehlo.reverse {}, dims = [2, 3] : {}", flat.name, hlo_type(flat.type)), flat.type);
  std::array<HloWindow, 2> windows;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t window = dilated(filter[d + 2], attrs.dilation[d]);
    windows[d] =
        padded({.between_x = attrs.stride[d], .between_w = attrs.dilation[d], .before = window - 1 - attrs.pads[d]},
               attrs.size[d], dilated(d_y.type.shape[d + 2], attrs.stride[d]), window);
  }
  return {
      hlo_convolution(call, d_y, turned, "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", windows, {.of_features = groups})};
}

std::vector<Hlo> emit_conv2d_grad_filter(const EmitCall& call) {
  const auto& attrs = call.attrs.as<Conv2dGradFilterAttrs>();
  const Hlo &x = call.inputs[0], &d_y = call.inputs[1];
  const auto windows =
      windows_over(x.type.shape, d_y.type.shape, attrs.kernel.data(), attrs.dilation, attrs.stride, attrs.pads);
  // Rows of the batch are the features that are added up; channels of x are the batch.
  return {
      hlo_convolution(call, x, d_y, "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]", windows, {.of_batch = attrs.groups})};
}

}  // namespace partita
