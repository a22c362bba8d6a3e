#pragma once
// Helpers shared by convolutions and poolings: the two spatial dimensions of NCHW tensors.

#include <tuple>

#include "ir/graph/op_def.h"

namespace partita {

/// One spatial dimension: input index = output index * stride - before + tap * dilation.
struct WindowSpan {
  int64_t stride = 1, dilation = 1, taps = 1;
  int64_t before = 0, after = 0;  // padding

  /// Number of input elements that one window spans.
  int64_t reach() const { return (taps - 1) * dilation + 1; }
  /// Number of outputs over `size` inputs, the last of which may be unused. With its padding, the input must hold a
  /// window.
  int64_t outputs(int64_t size) const { return (size + before + after - reach()) / stride + 1; }
  /// Return the ends of the range [first_output, last_output) of output indices, below `outputs`, whose input at `tap`
  /// lies inside [0, size).
  int64_t first_output(int64_t tap) const;
  int64_t last_output(int64_t tap, int64_t size, int64_t outputs) const;
  Window window(bool transposed = false) const { return {stride, dilation, taps, before, transposed}; }
};

/// Height and width.
struct Spans {
  WindowSpan h, w;
};
/// Returns the two dimensions; `pads` are top, left, bottom, right. Throws InvalidArgument unless the lists have
/// lengths 2, 2, 4 and 2 and numbers below 2^31, from 0 for pads and from 1 for others.
Spans make_spans(std::string_view op, const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
                 const std::vector<int64_t>& pads, const std::vector<int64_t>& taps);
/// Returns the number of outputs. Throws InvalidArgument unless `size` is above 0 and a window fits into the padded
/// input.
int64_t checked_outputs(std::string_view op, const WindowSpan& span, int64_t size);

/// Checks that a gradient has the `outputs` that `size` inputs give, or none at all, like an empty shard. Throws
/// InvalidArgument otherwise, and unless `size` is 0 to kMaxElements.
void require_grad_rows(std::string_view op, const WindowSpan& span, int64_t size, int64_t outputs);

/// Checks that a gradient d_y[n, c, h, w] has the outputs of inputs of `size`, height and width, as `require_grad_rows`
/// does. Throws InvalidArgument otherwise, and unless `size` has two numbers.
void require_grad_size(std::string_view op, const Spans& spans, const std::vector<int64_t>& size, const Shape& d_y);
/// Returns the shape [n, c, h, w] of the outputs of inputs x[n, .., h, w] for c channels. Throws as `checked_outputs`
/// does.
Shape checked_shape(std::string_view op, const Spans& spans, const Shape& x, int64_t channels);

/// Checks that no window can lie entirely in the padding. Throws InvalidArgument otherwise.
void require_pool_pads(std::string_view op, const Spans& spans);
/// Returns the part of [0, size) under window `output`, empty if the window lies outside. Ignores dilation.
Range inside(const WindowSpan& span, int64_t output, int64_t size);

/// Returns the padding, before and after, of a shard that computes the outputs `out` from the inputs `in`; that of
/// `span` if both ranges are whole or `out` is empty.
std::pair<int64_t, int64_t> local_pads(const WindowSpan& span, const Range& in, const Range& out);
/// Returns the padding of the inputs, before and after, of a shard that computes the gradients of the inputs `in` from
/// those of the outputs `out`: how far the windows of `out` reach beyond `in`, at least 0. It is that of `span` if both
/// ranges are whole, else 0 if `out` is empty.
std::pair<int64_t, int64_t> local_grad_pads(const WindowSpan& span, const Range& in, const Range& out);

/// Sets the pads of an op that computes the outputs y[n, c, h, w] under a window from the inputs x[n, c, h, w].
template <class WindowAttrs>
void localize_window(WindowAttrs& attrs, const Spans& spans, const Box& x, const Box& y) {
  std::tie(attrs.pads[0], attrs.pads[2]) = local_pads(spans.h, x[2], y[2]);
  std::tie(attrs.pads[1], attrs.pads[3]) = local_pads(spans.w, x[3], y[3]);
}
/// Sets the pads and size of a gradient that computes the rows d_x[n, c, h, w] from those of d_y.
template <class GradAttrs>
void localize_grad_window(GradAttrs& attrs, const Spans& spans, const Box& d_y, const Box& d_x) {
  std::tie(attrs.pads[0], attrs.pads[2]) = local_grad_pads(spans.h, d_x[2], d_y[2]);
  std::tie(attrs.pads[1], attrs.pads[3]) = local_grad_pads(spans.w, d_x[3], d_y[3]);
  attrs.size = {d_x[2].count(), d_x[3].count()};
}

}  // namespace partita
