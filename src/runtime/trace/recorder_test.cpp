#include "runtime/trace/recorder.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace partita {
namespace {

TEST(Recorder, KeepsSpansOfChosenStepsAndCountsThoseWithoutRoom) {
  Recorder recorder;
  recorder.reserve({2, 1});
  recorder.begin_step(7, /*keeps_spans=*/true);
  for (int i = 0; i < 3; ++i) const Recorded span(&recorder, {.kind = Span::instruction, .index = i});
  { const Recorded span(&recorder, {.kind = Span::instruction, .thread = 1, .index = 9}); }
  recorder.begin_step(8, /*keeps_spans=*/false);
  { const Recorded span(&recorder, {.kind = Span::feed}); }
  EXPECT_EQ(recorder.lost(), 1);
  const std::vector<Span> spans = recorder.take();
  ASSERT_EQ(spans.size(), 3);
  EXPECT_EQ(spans[1].index, 1);
  EXPECT_EQ(spans[1].step, 7);
  EXPECT_LE(spans[0].begin, spans[0].end);
  EXPECT_LE(spans[0].end, spans[1].begin);
  EXPECT_EQ(spans[2].thread, 1);
}

// The host waits for the programs of one stage after those of another.
TEST(Recorder, ProgramsFollowOneAnother) {
  Recorder recorder;
  recorder.reserve({1, 4});
  recorder.begin_step(1, /*keeps_spans=*/true);
  const auto add = [&](int stage, int64_t begin, int64_t end) {
    recorder.add({.kind = Span::program, .thread = 1, .stage = stage, .begin = begin, .end = end});
  };
  add(0, 10, 20);
  add(0, 12, 50);
  add(1, 11, 36);
  add(1, 40, 48);  // the plugin told of it before the end of the one before it
  const std::vector<Span> spans = recorder.take();
  const std::vector<std::array<int64_t, 3>> expected{{0, 10, 20}, {1, 20, 36}, {0, 36, 48}, {1, 48, 48}};
  ASSERT_EQ(spans.size(), expected.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ((std::array<int64_t, 3>{spans[i].stage, spans[i].begin, spans[i].end}), expected[i]);
  }
}

TEST(Recorder, AddsUpWhatIsExposedInAStep) {
  Recorder recorder;
  recorder.begin_step(1, /*keeps_spans=*/false);
  recorder.add({.kind = Span::receive, .exposed = 1, .begin = 100, .end = 1'000'000'100});
  recorder.add({.kind = Span::verdict, .exposed = 1, .begin = 0, .end = 500'000'000});
  recorder.add({.kind = Span::instruction, .begin = 0, .end = 500'000'000});
  EXPECT_DOUBLE_EQ(recorder.exposed_seconds(), 1.5);
  recorder.begin_step(2, /*keeps_spans=*/false);
  EXPECT_EQ(recorder.exposed_seconds(), 0);
}

TEST(Recorder, ASpanThatFailsIsKept) {
  Recorder recorder;
  recorder.reserve({4});
  recorder.begin_step(1, /*keeps_spans=*/true);
  try {
    const Recorded span(&recorder, {.kind = Span::receive});
    throw std::runtime_error("lost");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(recorder.take().size(), 1);
  const Recorded nobody(nullptr, {});
}

}  // namespace
}  // namespace partita
