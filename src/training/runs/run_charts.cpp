#include "training/runs/run_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page/axis.h"
#include "base/page/html.h"
#include "training/runs/run_summary.h"

namespace partita {
namespace {

constexpr double kHalfWidth = 540, kHalfHeight = 200;
constexpr size_t kFewPoints = 40;  // drawn as they are
constexpr double kWide = 20;       // quotient of the extremes above which the logarithm is drawn

/// How a quantity is shown.
struct Look {
  const char* title;
  std::string (*print)(double);
  std::string (*print_tick)(double);
  bool is_noisy = false, from_zero = false, may_be_log = false, dots = false;
};

std::string print_share(double value) { return fmt::format("{:.4g} %", 100 * value); }

Look look_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::loss: return {"Loss", print_value, print_number_tick, true, false, true};
    case Quantity::validation_loss:
      return {"Validation loss", print_value, print_number_tick, false, false, true, true};
    case Quantity::validation_accuracy:
      return {"Validation accuracy", print_share, print_share, false, false, false, true};
    case Quantity::learning_rate: return {"Learning rate", print_value, print_number_tick, false, true};
    case Quantity::rate: return {"Rows a second", print_value, print_number_tick, true, true};
    case Quantity::step_seconds: return {"Time of a step", print_span, print_seconds_tick, true, true, true};
    case Quantity::exposed: return {"Exposed communication of a step", print_span, print_seconds_tick, true, true};
    case Quantity::memory: return {"Memory of the first process", print_size, print_bytes_tick, false, true};
    case Quantity::loss_scale: return {"Loss scale", print_value, print_number_tick, false, false, true};
  }
  return {"", print_value, print_number_tick};
}

double quantity_value(const LoggedStep& step, Quantity quantity) {
  switch (quantity) {
    case Quantity::loss: return step.loss;
    case Quantity::learning_rate: return step.learning_rate;
    case Quantity::rate: return step.rate;
    case Quantity::step_seconds: return step.seconds;
    case Quantity::exposed: return step.exposed;
    case Quantity::memory: return step.memory;
    case Quantity::loss_scale: return step.loss_scale;
    default: return kUnknown;
  }
}

bool is_of_validation(Quantity quantity) {
  return quantity == Quantity::validation_loss || quantity == Quantity::validation_accuracy;
}

bool spans_much(const std::vector<ChartLine>& lines) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const ChartLine& line : lines) {
    for (const ChartPoint& point : line.points) {
      if (!std::isfinite(point.y)) continue;
      least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
  }
  return least > 0 && most > kWide * least;
}

/// Adds the lines of a run: its values, faint if there is a mean of many, and that mean.
void add_lines(std::vector<ChartLine>& lines, const RunRecord& run, Quantity quantity, int color, bool is_alone) {
  const Look look = look_of(quantity);
  std::vector<ChartPoint> points = points_of(run, quantity);
  if (points.empty()) return;
  const bool has_mean = look.is_noisy && points.size() > kFewPoints;
  if (has_mean) {
    std::vector<ChartPoint> mean = smoothed(points, std::max(4.0, static_cast<double>(points.size()) / 100));
    if (is_alone) lines.push_back({.color = color, .look = ChartLine::faint, .points = std::move(points)});
    lines.push_back({.name = is_alone ? "running mean" : run.name, .color = color, .points = std::move(mean)});
    return;
  }
  lines.push_back({.name = is_alone ? "" : run.name,
                   .color = color,
                   .look = look.dots ? ChartLine::dots : ChartLine::plain,
                   .points = std::move(points)});
}

}  // namespace

std::vector<ChartPoint> points_of(const RunRecord& run, Quantity quantity) {
  std::vector<ChartPoint> points;
  if (is_of_validation(quantity)) {
    for (const LoggedValidation& one : run.validations) {
      const double value = quantity == Quantity::validation_loss ? one.loss : one.accuracy;
      if (!std::isnan(value)) points.push_back({static_cast<double>(one.step), value});
    }
    // A network that does not classify logs an accuracy of 0.
    const bool is_empty = std::ranges::all_of(points, [](const ChartPoint& point) { return point.y == 0; });
    if (quantity == Quantity::validation_accuracy && is_empty) points.clear();
    return points;
  }
  for (const LoggedStep& step : run.steps) {
    const double value = quantity_value(step, quantity);
    if (quantity == Quantity::loss || !std::isnan(value)) points.push_back({static_cast<double>(step.step), value});
  }
  return points;
}

std::string chart_of(const std::vector<const RunRecord*>& runs, Quantity quantity, double width, double height) {
  const Look look = look_of(quantity);
  const bool is_alone = runs.size() == 1;
  LineChart chart{.label = fmt::format("{} over the steps", look.title),
                  .lines = {},
                  .print = look.print,
                  .print_tick = look.print_tick,
                  .is_binary = quantity == Quantity::memory,
                  .largest = quantity == Quantity::validation_accuracy ? 1 : HUGE_VAL,
                  .from_zero = look.from_zero,
                  .width = width,
                  .height = height};
  for (size_t i = 0; i < runs.size(); ++i)
    add_lines(chart.lines, *runs[i], quantity, static_cast<int>(i % 6), is_alone);
  if (chart.lines.empty()) return "";
  if (is_alone) {
    const RunRecord& run = *runs[0];
    if (quantity == Quantity::loss) {
      std::vector<ChartPoint> validation = points_of(run, Quantity::validation_loss);
      if (!validation.empty()) {
        if (chart.lines.size() == 1) chart.lines[0].name = "training";
        chart.lines.push_back({"validation", 1, ChartLine::dots, std::move(validation)});
      }
      for (const int64_t step : summary_of(run).not_finite_steps) chart.bad.push_back(static_cast<double>(step));
    }
    if (quantity == Quantity::step_seconds && run.predicted && run.predicted->step > 0) {
      const double seconds = run.predicted->step;
      if (chart.lines.size() == 1) chart.lines[0].name = "measured";
      chart.lines.push_back({"predicted",
                             1,
                             ChartLine::dashed,
                             {{static_cast<double>(run.steps.front().step), seconds},
                              {static_cast<double>(run.steps.back().step), seconds}}});
    }
    for (size_t i = 1; i < run.starts.size(); ++i) {
      chart.restarts.push_back(static_cast<double>(run.starts[i].first_step));
    }
  }
  chart.is_log = look.may_be_log && spans_much(chart.lines);
  return line_chart(chart);
}

std::string chart_section(const std::vector<const RunRecord*>& runs, Quantity quantity) {
  const std::string chart = chart_of(runs, quantity, kHalfWidth, kHalfHeight);
  return chart.empty() ? "" : section(look_of(quantity).title, chart);
}

}  // namespace partita
