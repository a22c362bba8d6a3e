#include "runtime/device/cpu/loops/convolution_sizes.h"

#include "ir/ops/conv/conv2d.h"

namespace partita {
namespace {

template <class A>
Spans spans_of(const A& attrs, const Shape& weight) {
  return make_spans("conv2d", attrs.stride, attrs.dilation, attrs.pads, {weight[2], weight[3]});
}

}  // namespace

Patches ConvolutionSizes::patches() const {
  Patches patches{.image_stride = image_x(), .height = x[2], .width = x[3], .rows = y[2], .columns = y[3]};
  patches.row_step = spans.h.stride;
  patches.column_step = spans.w.stride;
  patches.taps.clear();
  for (int64_t p = 0; p < weight[2]; ++p) {
    for (int64_t q = 0; q < weight[3]; ++q) {
      patches.taps.push_back({p * spans.h.dilation - spans.h.before, q * spans.w.dilation - spans.w.before});
    }
  }
  return patches;
}

ConvolutionSizes convolution_sizes(const KernelQuery& query) {
  const Shape &first = query.inputs[0].shape, &second = query.inputs[1].shape, &result = query.outputs[0].shape;
  if (query.op == "conv2d") {
    const auto& attrs = query.attrs.as<Conv2dAttrs>();
    return {first, second, result, attrs.groups, spans_of(attrs, second)};
  }
  if (query.op == "conv2d_grad_input") {
    const auto& attrs = query.attrs.as<Conv2dGradInputAttrs>();
    return {result, second, first, attrs.groups, spans_of(attrs, second)};
  }
  const auto& attrs = query.attrs.as<Conv2dGradFilterAttrs>();
  return {first, result, second, attrs.groups, spans_of(attrs, result)};
}

std::vector<Residue> residues_of(const ConvolutionSizes& conv) {
  const auto& [h, w] = conv.spans;
  std::vector<Residue> residues;
  for (int64_t row = 0; row < std::min(h.stride, conv.x[2]); ++row) {
    for (int64_t column = 0; column < std::min(w.stride, conv.x[3]); ++column) {
      Residue residue{.row = row, .column = column};
      residue.d_y = {.image_stride = conv.image_y(),
                     .height = conv.y[2],
                     .width = conv.y[3],
                     .rows = (conv.x[2] - row + h.stride - 1) / h.stride,
                     .columns = (conv.x[3] - column + w.stride - 1) / w.stride};
      residue.d_y.taps.clear();
      for (int64_t p = 0; p < conv.weight[2]; ++p) {
        for (int64_t q = 0; q < conv.weight[3]; ++q) {
          const int64_t y = row + h.before - p * h.dilation, x = column + w.before - q * w.dilation;
          if (y % h.stride != 0 || x % w.stride != 0) continue;
          residue.d_y.taps.push_back({y / h.stride, x / w.stride});
          residue.taps.push_back(p * conv.weight[3] + q);
        }
      }
      residues.push_back(std::move(residue));
    }
  }
  return residues;
}

}  // namespace partita
