#include "base/page/line_chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/page/axis.h"
#include "base/page/html.h"
#include "base/page/test_page.h"

namespace partita {
namespace {

std::string print_plain(double value) { return fmt::format("{:.4g}", value); }

LineChart chart_with(std::vector<ChartPoint> points) {
  return {
      .label = "a <chart>", .lines = {{"a|b~<c>&\"", 0, ChartLine::plain, std::move(points)}}, .print = print_plain};
}

std::string fault_of_chart(const LineChart& chart) {
  return fault_of_page(html_document("t", line_chart(chart) + kChartScript));
}

TEST(LineChart, ThinnedPointsKeepExtremesAndOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const size_t count = random() % 20'000;
    const int columns = 1 + static_cast<int>(random() % 600);
    std::vector<ChartPoint> points;
    for (size_t i = 0; i < count; ++i) {
      const double y = random() % 100 == 0 ? NAN : static_cast<double>(random() % 1'000'000);
      points.push_back({static_cast<double>(i), y});
    }
    const std::vector<ChartPoint> kept = thinned(points, columns);
    EXPECT_LE(kept.size(), static_cast<size_t>(5 * columns + 5));
    EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &ChartPoint::x));
    const auto extremes = [](const std::vector<ChartPoint>& all) {
      std::pair<double, double> found{HUGE_VAL, -HUGE_VAL};
      int64_t bad = 0;
      for (const ChartPoint& one : all) {
        if (!std::isfinite(one.y)) ++bad;
        if (std::isfinite(one.y)) found = {std::min(found.first, one.y), std::max(found.second, one.y)};
      }
      return std::tuple(found.first, found.second, bad > 0);
    };
    EXPECT_EQ(extremes(kept), extremes(points));
    if (!points.empty()) {
      EXPECT_EQ(kept.front().x, points.front().x);
      EXPECT_EQ(kept.back().x, points.back().x);
    }
  }
}

TEST(LineChart, TheRunningMeanOfAConstantIsTheConstant) {
  const std::vector<ChartPoint> mean = smoothed({{1, 2}, {2, 2}, {3, NAN}, {4, 2}}, 3);
  ASSERT_EQ(mean.size(), 3U);
  for (const ChartPoint& one : mean) EXPECT_DOUBLE_EQ(one.y, 2);
  // Half of the weight of a value is left after the half-life.
  const std::vector<ChartPoint> step = smoothed({{1, 1}, {2, 0}}, 1);
  EXPECT_DOUBLE_EQ(step[1].y, (0.5 * 1 + 1 * 0) / 1.5);
}

TEST(LineChart, IsWellFormedForAnyNumbers) {
  const std::vector<std::vector<ChartPoint>> all{
      {{1, 1}},
      {{1, 0}, {2, 0}},
      {{1, -1}, {2, NAN}, {3, 5}},
      {{1, NAN}, {2, 3}, {3, NAN}},
      {{1, 1e308}, {2, -1e308}},
      {{1, 5e-324}, {2, 1e-300}},
      {{0, HUGE_VAL}, {1e15, 2}},
      {{7, 3}, {7, 4}},
  };
  for (const auto& points : all) {
    for (const bool is_log : {false, true}) {
      LineChart chart = chart_with(points);
      chart.is_log = is_log;
      chart.bad = {2};
      chart.restarts = {1};
      const std::string text = line_chart(chart);
      EXPECT_EQ(fault_of_chart(chart), "") << text;
      EXPECT_NE(text.find("<svg"), text.npos);
      for (const char* wrong : {"nan,", " nan", "\"nan\"", "inf\"", "=\"-nan"})
        EXPECT_EQ(text.find(wrong), text.npos) << text;
    }
  }
  EXPECT_EQ(line_chart(chart_with({{1, NAN}, {2, HUGE_VAL}})), "");
  EXPECT_EQ(line_chart(chart_with({})), "");
}

TEST(LineChart, ReadoutsHaveOneTextPerPosition) {
  std::vector<ChartPoint> points;
  for (int i = 1; i <= 5000; ++i) points.push_back({double(i), double(i)});
  const std::string text = line_chart(chart_with(points));
  const auto bars_in = [&](const std::string& attribute) {
    const size_t begin = text.find(attribute) + attribute.size(), end = text.find('"', begin);
    return std::count(text.begin() + static_cast<std::ptrdiff_t>(begin),
                      text.begin() + static_cast<std::ptrdiff_t>(end), '|');
  };
  EXPECT_EQ(bars_in("data-at=\""), bars_in("data-texts=\""));
  EXPECT_EQ(bars_in("data-at=\""), 159);
}

TEST(LineChart, TicksAreRoundAndInTheRange) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const double low = std::pow(10, static_cast<double>(random() % 12) - 6),
                 factor = 1 + static_cast<double>(random() % 1000);
    for (const bool is_log : {false, true}) {
      const Axis axis(low, low * factor, 0, 100, is_log);
      const std::vector<double> ticks = axis.ticks(5);
      EXPECT_GE(ticks.size(), 1U);
      EXPECT_LE(ticks.size(), 21U);
      for (const double tick : ticks) {
        EXPECT_GE(tick, axis.low() * 0.999);
        EXPECT_LE(tick, axis.high() * 1.001);
        EXPECT_GE(axis.at(tick), -1.1);
        EXPECT_LE(axis.at(tick), 101.1);
      }
    }
  }
  EXPECT_EQ(print_bytes_tick(1.5 * 1024 * 1024), "1.5 MiB");
  EXPECT_EQ(print_number_tick(20'000), "20k");
  EXPECT_EQ(print_seconds_tick(0.01), "10 ms");
}

}  // namespace
}  // namespace partita
