#include "ir/ops/window.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace partita {
namespace {

TEST(Window, PadsOfAShardGiveItsShareOfTheOutputs) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t dilation : {1, 2}) {
      for (int64_t taps : {1, 2, 3}) {
        for (int64_t pad = 0; pad < 3; ++pad) {
          const WindowSpan span{stride, dilation, taps, pad, 2 - pad};
          const int64_t size = 11, outputs = span.outputs(size);
          for (int64_t i = 0; i < 3; ++i) {
            const Range out = chunk(outputs, i, 3), in = required_range(span.window(), out, size);
            const auto [before, after] = local_pads(span, in, out);
            EXPECT_EQ((WindowSpan{stride, dilation, taps, before, after}.outputs(in.count())), out.count());
          }
        }
      }
    }
  }
}

TEST(Window, PadsOfAGradientShardGiveTheOutputsItHolds) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t taps : {1, 2, 5}) {
      for (int64_t pad = 0; pad < taps; ++pad) {
        const WindowSpan span{stride, 1, taps, pad, pad};
        const int64_t size = 9, outputs = span.outputs(size);
        for (int64_t i = 0; i < 4; ++i) {
          const Range in = chunk(size, i, 4), out = required_range(span.window(true), in, outputs);
          if (out.count() == 0) continue;
          const auto [before, after] = local_grad_pads(span, in, out);
          EXPECT_GE(before, 0);
          EXPECT_EQ((WindowSpan{stride, 1, taps, before, after}.outputs(in.count())), out.count());
        }
      }
    }
  }
}

TEST(Window, RefusesWhatNoKernelTakes) {
  EXPECT_THROW(make_spans("op", {0, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}), InvalidArgument);
  EXPECT_THROW(make_spans("op", {1, 1}, {1}, {0, 0, 0, 0}, {1, 1}), InvalidArgument);
  EXPECT_THROW(make_spans("op", {1, 1}, {1, 1}, {0, 0, -1, 0}, {1, 1}), InvalidArgument);
  EXPECT_THROW(checked_outputs("op", WindowSpan{.taps = 5, .before = 1}, 3), InvalidArgument);
}

}  // namespace
}  // namespace partita
