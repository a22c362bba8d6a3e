// Poolings as StableHLO, without scatters and in a fixed order. Gradients gather: each element of x adds what comes
// from the windows over it.

#include <limits>

#include "ir/ops/emission.h"
#include "ir/ops/pool/pool.h"
#include "ir/ops/wide.h"
#include "ir/ops/window.h"

namespace partita {
namespace {

/// Largest elements and their row-major places in a plane of x: -1 in the padding.
struct Largest {
  Hlo value, place;
};

/// Returns `b` where it is larger than `a`, or NaN and `a` is not, or `a` is padding; else `a`.
Largest larger_of(const EmitCall& call, const Largest& a, const Largest& b) {
  const Traced first(call, a.value), second(call, b.value), place(call, a.place);
  const Hlo is_new =
      call.body.add_same("stablehlo.and", {call.compare("NE", b.value, b.value), call.compare("EQ", a.value, a.value)});
  const Traced is_better = (place < 0) || (second > first) || Traced(call, is_new);
  const auto choose = [&](const Hlo& x, const Hlo& y) {
    return select_of(is_better, Traced(call, y), Traced(call, x)).as(call, x.type);
  };
  return {choose(a.value, b.value), choose(a.place, b.place)};
}

/// Returns the first of the largest elements under each window.
Largest largest_under(const EmitCall& call, const Largest& x, const Spans& spans) {
  const std::vector<HloEdge> edges{{spans.h.before, spans.h.after}, {spans.w.before, spans.w.after}};
  const Hlo least = call.splat(-std::numeric_limits<double>::infinity(), {x.value.type.dtype, {}});
  const Largest padded{hlo_pad(call, x.value, least, edges),
                       hlo_pad(call, x.place, call.splat_integer(-1, {x.place.type.dtype, {}}), edges)};
  const Shape& shape = x.value.type.shape;
  const int64_t rows = spans.h.outputs(shape[2]), columns = spans.w.outputs(shape[3]);
  Largest best;
  for (int64_t tap = 0; tap < spans.h.taps * spans.w.taps; ++tap) {
    const int64_t p = tap / spans.w.taps, q = tap % spans.w.taps;
    const auto under_tap = [&](const Hlo& all) {
      return hlo_slice(
          call, all, {0, 0, p, q},
          {shape[0], shape[1], p + (rows - 1) * spans.h.stride + 1, q + (columns - 1) * spans.w.stride + 1},
          {1, 1, spans.h.stride, spans.w.stride});
    };
    const Largest next{under_tap(padded.value), under_tap(padded.place)};
    best = tap == 0 ? next : larger_of(call, best, next);
  }
  return best;
}

/// The windows over each row (column) of x, which are up to `count` in number: from the first over it, window count -
/// 1, to the last, window 0.
struct Covering {
  WindowSpan span;
  int64_t outputs = 0, size = 0, count = 0;

  /// A window that is alone has no stride.
  Covering(const WindowSpan& given, int64_t all_outputs, int64_t all_size)
      : span(given), outputs(all_outputs), size(all_size) {
    if (outputs == 1) span.stride = span.taps;
    count = (span.taps + span.stride - 1) / span.stride;
  }
  /// Returns the edges with which outputs, each repeated `stride` times, are those of a window over the rows of x.
  HloEdge edge(int64_t window) const {
    const int64_t before = window * span.stride - span.before;
    return {.before = before, .after = size - before - outputs * span.stride};
  }
};

class CoveringWindows {
 public:
  CoveringWindows(const EmitCall& call, const Spans& spans, const Shape& outputs, const Shape& x)
      : call_(call), x_(x), h_(spans.h, outputs[2], x[2]), w_(spans.w, outputs[3], x[3]) {}

  /// Calls fn(row, column) for the windows over each element, in their order.
  template <class Fn>
  void for_windows(Fn&& fn) const {
    for (int64_t row = h_.count - 1; row >= 0; --row) {
      for (int64_t column = w_.count - 1; column >= 0; --column) fn(row, column);
    }
  }

  /// Returns outputs [n, c, h, w] with each repeated for as many elements as a stride has.
  Hlo repeated(const Hlo& y) const {
    const Shape& shape = y.type.shape;
    const int64_t rows = h_.span.stride, columns = w_.span.stride;
    const Hlo spread = call_.broadcast_in(y, {0, 1, 2, 4}, {shape[0], shape[1], shape[2], rows, shape[3], columns});
    return call_.reshape(spread, {shape[0], shape[1], shape[2] * rows, shape[3] * columns});
  }
  /// Returns the outputs of a window over each element; `fill` where there is no such window.
  Traced at(const Hlo& repeated, const Hlo& fill, int64_t row, int64_t column) const {
    return {call_, hlo_pad(call_, repeated, fill, {h_.edge(row), w_.edge(column)})};
  }
  /// Returns the row-major place of each element in a window, -2 where it is not under it.
  Traced place(int64_t row, int64_t column) const {
    const Type type{DType::i64, {x_[2], x_[3]}};
    const Traced p = tap(h_, 0, row, type), q = tap(w_, 1, column, type);
    const Traced inside =
        select_of(q < static_cast<double>(w_.span.taps), p * static_cast<double>(w_.span.taps) + q, -2);
    const Traced place = select_of(p < static_cast<double>(h_.span.taps), inside, -2);
    return {call_, call_.broadcast_in(call_.convert(place.as(call_, type), DType::i32), {2, 3}, x_)};
  }

 private:
  Traced tap(const Covering& side, int64_t dim, int64_t window, const Type& type) const {
    const Traced from_start = Traced(call_, hlo_iota(call_, dim, type)) + static_cast<double>(side.span.before);
    const Hlo stride = call_.splat_integer(side.span.stride, type);
    const Traced rest(call_, call_.body.add_same("stablehlo.remainder", {from_start.as(call_, type), stride}));
    return rest + static_cast<double>(window * side.span.stride);
  }

  const EmitCall& call_;
  const Shape x_;
  const Covering h_, w_;
};

/// Returns the number of elements that are not padding under each window, in the type: rows and columns under it that
/// lie in `whole`, of which x begins at `begin`.
Hlo covered_counts(const EmitCall& call, const Spans& spans, const std::vector<int64_t>& begin,
                   const std::vector<int64_t>& whole, const Type& result) {
  const Type type{DType::i64, {result.shape[2], result.shape[3]}};
  const auto covered = [&](const WindowSpan& span, size_t dim) {
    const Traced window(call, hlo_iota(call, static_cast<int64_t>(dim), type));
    const Traced first = window * static_cast<double>(span.stride) + static_cast<double>(begin[dim] - span.before);
    return min_of(first + static_cast<double>(span.taps), static_cast<double>(whole[dim])) - max_of(first, 0);
  };
  const Hlo counts = (covered(spans.h, 0) * covered(spans.w, 1)).as(call, type);
  return call.broadcast_in(call.convert(counts, result.dtype), {2, 3}, result.shape);
}

template <class A>
Spans emitted_spans(const A& attrs) {
  return make_spans("pool", attrs.stride, {1, 1}, attrs.pads, attrs.kernel);
}

}  // namespace

std::vector<Hlo> emit_max_pool(const EmitCall& call) {
  // Rows and columns of larger windows come one after the other, which takes fewer steps.
  constexpr int64_t kMaxTaps = 32;
  const Spans spans = emitted_spans(call.attrs.as<MaxPoolAttrs>());
  const Hlo& x = call.inputs[0];
  const Type &result = call.outputs[0], &positions = call.outputs[1];
  if (result.elements() == 0) return {call.splat(0, result), call.splat(0, positions)};
  const int64_t height = x.type.shape[2], width = x.type.shape[3];
  const bool is_small = height * width <= std::numeric_limits<int32_t>::max();
  const Type places{is_small ? DType::i32 : DType::i64, x.type.shape}, ends{places.dtype, result.shape};
  const Traced plane =
      Traced(call, hlo_iota(call, 2, places)) * static_cast<double>(width) + Traced(call, hlo_iota(call, 3, places));
  Largest largest{x, plane.as(call, places)};
  if (spans.h.taps * spans.w.taps <= kMaxTaps) {
    largest = largest_under(call, largest, spans);
  } else {
    largest = largest_under(call, largest, {{}, spans.w});
    largest = largest_under(call, largest, {spans.h, {}});
  }
  const Traced place(call, largest.place), row = place / static_cast<double>(width);
  const auto tap = [&](const Traced& at, const WindowSpan& span, int64_t dim) {
    const Traced window(call, hlo_iota(call, dim, ends));
    return at - window * static_cast<double>(span.stride) + static_cast<double>(span.before);
  };
  const Traced position = tap(row, spans.h, 2) * static_cast<double>(spans.w.taps) +
                          tap(place - row * static_cast<double>(width), spans.w, 3);
  const Traced value(call, largest.value);
  return {select_of(place < 0, 0, value).as(call, result),
          call.convert(select_of(place < 0, -1, position).as(call, ends), positions.dtype)};
}

std::vector<Hlo> emit_max_pool_grad(const EmitCall& call) {
  const Hlo &d_y = call.inputs[0], &positions = call.inputs[1];
  const Type& result = call.outputs[0];
  if (result.elements() == 0 || d_y.type.elements() == 0) return {call.splat(0, result)};
  const Type sum{wide_type(result.dtype), result.shape};
  const CoveringWindows windows(call, emitted_spans(call.attrs.as<MaxPoolGradAttrs>()), d_y.type.shape, result.shape);
  const Hlo shares = windows.repeated(call.convert(d_y, sum.dtype)), places = windows.repeated(positions);
  const Hlo zero = call.splat(0, {sum.dtype, {}}), none = call.splat_integer(-1, {DType::i32, {}});
  Traced d_x(call, call.splat(0, sum));
  windows.for_windows([&](int64_t row, int64_t column) {
    const Traced is_largest = windows.at(places, none, row, column) == windows.place(row, column);
    d_x += select_of(is_largest, windows.at(shares, zero, row, column), 0);
  });
  return {call.convert(d_x.as(call, sum), result.dtype)};
}

std::vector<Hlo> emit_avg_pool(const EmitCall& call) {
  const auto& attrs = call.attrs.as<AvgPoolAttrs>();
  const Spans spans = emitted_spans(attrs);
  const Type& result = call.outputs[0];
  if (result.elements() == 0) return {call.splat(0, result)};
  const Type sum{wide_type(result.dtype), result.shape};
  const Hlo x = call.convert(call.inputs[0], sum.dtype), zero = call.splat(0, {sum.dtype, {}});
  const Hlo sums = call.body.add(
      fmt::format("\"stablehlo.reduce_window\"({}, {}) ({{\n    ^bb0(%a: {}, %b: {}):\n      %sum = stablehlo.add %a, "
                  "%b : {}\n      stablehlo.return %sum : {}\n    }}) {{window_dimensions = array<i64: 1, 1, {}, {}>, "
                  "window_strides = array<i64: 1, 1, {}, {}>, padding = dense<[[0, 0], [0, 0], [{}, {}], [{}, {}]]> : "
                  "tensor<4x2xi64>}} : {} -> {}",
                  x.name, zero.name, hlo_type(zero.type), hlo_type(zero.type), hlo_type(zero.type), hlo_type(zero.type),
                  spans.h.taps, spans.w.taps, spans.h.stride, spans.w.stride, spans.h.before, spans.h.after,
                  spans.w.before, spans.w.after, hlo_types({x, zero}), hlo_type(sum)),
      sum);
  const Shape& shape = x.type.shape;
  const Hlo counts = attrs.count_include_pad ? call.splat(static_cast<double>(spans.h.taps * spans.w.taps), sum)
                                             : covered_counts(call, spans, {0, 0}, {shape[2], shape[3]}, sum);
  return {call.convert(call.body.add_same("stablehlo.divide", {sums, counts}), result.dtype)};
}

std::vector<Hlo> emit_avg_pool_grad(const EmitCall& call) {
  const auto& attrs = call.attrs.as<AvgPoolGradAttrs>();
  const Spans spans = emitted_spans(attrs);
  const Hlo& d_y = call.inputs[0];
  const Type& result = call.outputs[0];
  if (result.elements() == 0 || d_y.type.elements() == 0) return {call.splat(0, result)};
  const Type sum{wide_type(result.dtype), result.shape}, share{sum.dtype, d_y.type.shape};
  const CoveringWindows windows(call, spans, d_y.type.shape, result.shape);
  const Hlo counts = attrs.count_include_pad ? call.splat(static_cast<double>(spans.h.taps * spans.w.taps), share)
                                             : covered_counts(call, spans, attrs.begin, attrs.whole, share);
  const Hlo shares = windows.repeated(call.body.add_same("stablehlo.divide", {call.convert(d_y, sum.dtype), counts}));
  const Hlo zero = call.splat(0, {sum.dtype, {}});
  Traced d_x(call, call.splat(0, sum));
  windows.for_windows([&](int64_t row, int64_t column) {
    d_x += select_of(windows.place(row, column) >= 0, windows.at(shares, zero, row, column), 0);
  });
  return {call.convert(d_x.as(call, sum), result.dtype)};
}

}  // namespace partita
