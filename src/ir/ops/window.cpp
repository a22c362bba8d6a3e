#include "ir/ops/window.h"

#include <algorithm>

#include "base/floor_div.h"

namespace partita {
namespace {

void require_list(std::string_view op, std::string_view name, const std::vector<int64_t>& list, size_t count,
                  int64_t least) {
  constexpr int64_t kMaxSize = int64_t{1} << 31;  // products of two stay within 64 bits
  const bool legal = std::ranges::all_of(list, [&](int64_t value) { return value >= least && value < kMaxSize; });
  if (list.size() == count && legal) return;
  reject(op, fmt::format("{} is not legal", name), to_text(list),
         fmt::format("{} numbers from {} to 2^31 - 1", count, least));
}

}  // namespace

int64_t WindowSpan::first_output(int64_t tap) const {
  return std::max<int64_t>(0, -floor_div(tap * dilation - before, stride));
}

int64_t WindowSpan::last_output(int64_t tap, int64_t size, int64_t outputs) const {
  return std::min(outputs, floor_div(size - 1 + before - tap * dilation, stride) + 1);
}

Spans make_spans(std::string_view op, const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
                 const std::vector<int64_t>& pads, const std::vector<int64_t>& taps) {
  require_list(op, "stride", stride, 2, 1);
  require_list(op, "dilation", dilation, 2, 1);
  require_list(op, "pads", pads, 4, 0);
  require_list(op, "kernel", taps, 2, 1);
  return {{stride[0], dilation[0], taps[0], pads[0], pads[2]}, {stride[1], dilation[1], taps[1], pads[1], pads[3]}};
}

int64_t checked_outputs(std::string_view op, const WindowSpan& span, int64_t size) {
  const int64_t padded = size + span.before + span.after;
  if (size == 0) reject(op, "the input is empty", "a height or width of 0", "at least 1");
  if (padded < span.reach()) {
    reject(op, "the window is larger than the padded input", fmt::format("window of {} on {}", span.reach(), padded),
           "a window that fits");
  }
  return span.outputs(size);
}

void require_grad_rows(std::string_view op, const WindowSpan& span, int64_t size, int64_t outputs) {
  if (size < 0 || size > kMaxElements) {
    reject(op, "size is not legal", fmt::format("{}", size), fmt::format("0 to {}", kMaxElements));
  }
  if (outputs == 0) return;
  const int64_t expected = checked_outputs(op, span, size);
  if (outputs == expected) return;
  reject(op, "the gradient does not fit the input", fmt::format("{} outputs of {} inputs", outputs, size),
         fmt::format("{} outputs", expected));
}

void require_grad_size(std::string_view op, const Spans& spans, const std::vector<int64_t>& size, const Shape& d_y) {
  if (size.size() != 2) reject(op, "size is not legal", to_text(size), "height and width");
  require_grad_rows(op, spans.h, size[0], d_y[2]);
  require_grad_rows(op, spans.w, size[1], d_y[3]);
}

Shape checked_shape(std::string_view op, const Spans& spans, const Shape& x, int64_t channels) {
  return {x[0], channels, checked_outputs(op, spans.h, x[2]), checked_outputs(op, spans.w, x[3])};
}

void require_pool_pads(std::string_view op, const Spans& spans) {
  for (const WindowSpan& span : {spans.h, spans.w}) {
    if (span.before < span.taps && span.after < span.taps) continue;
    reject(op, "padding is not below the kernel size",
           fmt::format("pads {} and {} of a kernel of {}", span.before, span.after, span.taps), "smaller pads");
  }
}

Range inside(const WindowSpan& span, int64_t output, int64_t size) {
  const int64_t first = output * span.stride - span.before;
  const int64_t begin = std::clamp<int64_t>(first, 0, size);
  return {begin, std::clamp<int64_t>(first + span.taps, begin, size), size};
}

std::pair<int64_t, int64_t> local_pads(const WindowSpan& span, const Range& in, const Range& out) {
  if (out.count() == 0 || (in.whole() && out.whole())) return {span.before, span.after};
  const int64_t needed = (out.count() - 1) * span.stride + span.reach();
  const int64_t before = std::clamp<int64_t>(in.begin - (out.begin * span.stride - span.before), 0, needed);
  return {before, std::max<int64_t>(0, needed - before - in.count())};
}

std::pair<int64_t, int64_t> local_grad_pads(const WindowSpan& span, const Range& in, const Range& out) {
  if (in.whole() && out.whole()) return {span.before, span.after};
  if (out.count() == 0) return {0, 0};
  const int64_t covered = (out.count() - 1) * span.stride + span.reach();
  const int64_t before = std::max<int64_t>(0, span.before + in.begin - out.begin * span.stride);
  return {before, std::max<int64_t>(0, covered - before - in.count())};
}

}  // namespace partita
