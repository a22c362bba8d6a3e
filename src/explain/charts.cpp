#include "explain/charts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "pipeline/simulate.h"
#include "planning/quantities.h"

namespace partita {
namespace {

constexpr double kChartWidth = 1080, kLeft = 78, kRight = 12;
constexpr int64_t kMostRectangles = 6000;
constexpr int kMostRows = 32, kMostLines = 6;

struct Follow {
  Sequence sequence;
  Simulation simulation;
};

Follow follow(const DrawnOrder& drawn) {
  const auto dependencies = chain_of(drawn.shape.stages());
  Follow result{make_sequence(drawn.order, drawn.shape, dependencies), {}};
  result.simulation = simulate(result.sequence, drawn.shape, dependencies);
  return result;
}

/// "1.5 s": round numbers are short.
std::string print_tick(double seconds) {
  if (seconds == 0) return "0";
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} us", seconds * 1e6);
}

/// Seconds to pixels.
class TimeAxis {
 public:
  explicit TimeAxis(double seconds) : seconds_(std::max(seconds, 1e-12)) {}
  double at(double seconds) const { return kLeft + seconds / seconds_ * (kChartWidth - kLeft - kRight); }

  /// Lines and labels at round times.
  std::string ticks(double top, double bottom) const {
    const double rough = seconds_ / 6, power = std::pow(10, std::floor(std::log10(rough)));
    double step = power;
    for (double factor : {2.0, 5.0, 10.0}) {
      if (step < rough * 0.8) step = power * factor;
    }
    std::string text;
    for (double t = 0; t <= seconds_ * 1.0001; t += step) {
      text += fmt::format(R"(<line class="tick" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>)"
                          R"(<text class="label" x="{0:.1f}" y="{3:.1f}" text-anchor="middle">{4}</text>)",
                          at(t), top, bottom, bottom + 14, print_tick(t));
    }
    return text;
  }

 private:
  double seconds_;
};

/// At most so many of `count`, the first and the last among them.
std::vector<int> some_of_groups(int count, int most) {
  std::vector<int> groups;
  const int shown = std::min(count, most);
  for (int i = 0; i < shown; ++i)
    groups.push_back(shown == 1 ? 0 : static_cast<int>(std::lround(double(i) * (count - 1) / (shown - 1))));
  return groups;
}

std::string open_svg(double height, std::string_view what) {
  return fmt::format(R"(<svg viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">)", kChartWidth, height, what);
}

/// Bytes of one group over time, a point per change.
std::vector<std::pair<double, double>> bytes_over_time(const DrawnOrder& drawn, const Simulation& simulation,
                                                       int group) {
  const StageSection last = drawn.order == Order::zero_bubble ? StageSection::weight : StageSection::backward;
  std::map<double, double> changes;
  for (const TimedSlot& timed : simulation.slots) {
    if (drawn.shape.groups[timed.slot.stage] != group) continue;
    if (timed.slot.section == StageSection::forward) changes[timed.start] += drawn.kept[timed.slot.stage];
    if (timed.slot.section == last) changes[timed.end] -= drawn.kept[timed.slot.stage];
  }
  double bytes = drawn.states[group];
  std::vector<std::pair<double, double>> points{{0, bytes}};
  for (const auto& [time, change] : changes) {
    points.emplace_back(time, bytes);
    points.emplace_back(time, bytes += change);
  }
  points.emplace_back(simulation.seconds, bytes);
  return points;
}

}  // namespace

int64_t drawn_micro_batches(const PipelineShape& shape) {
  const int64_t stages = shape.stages(), groups = shape.group_count();
  const int64_t most = std::max(groups + 4, kMostRectangles / (3 * std::max<int64_t>(1, stages)));
  if (shape.micro_batches <= most) return shape.micro_batches;
  return std::max<int64_t>(groups, most / groups * groups);
}

std::string timeline_chart(const DrawnOrder& drawn) {
  const Simulation simulation = follow(drawn).simulation;
  const std::vector<int> rows = some_of_groups(drawn.shape.group_count(), kMostRows);
  const double height = rows.size() > 12 ? 18 : 24, bottom = static_cast<double>(rows.size()) * (height + 4) + 4;
  const TimeAxis axis(simulation.seconds);
  std::string text = open_svg(bottom + 20, "sections of the groups of ranks over time") + axis.ticks(0, bottom);
  std::map<int, double> tops;
  for (size_t i = 0; i < rows.size(); ++i) {
    tops[rows[i]] = 4 + static_cast<double>(i) * (height + 4);
    text += fmt::format(R"(<rect class="idle" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)"
                        R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">group {}</text>)",
                        axis.at(0), tops[rows[i]], axis.at(simulation.seconds) - axis.at(0), height, kLeft - 6,
                        tops[rows[i]] + height / 2 + 4, rows[i]);
  }
  const bool shares = drawn.shape.stages() > drawn.shape.group_count();
  for (const TimedSlot& timed : simulation.slots) {
    const auto top = tops.find(drawn.shape.groups[timed.slot.stage]);
    if (top == tops.end()) continue;
    const double left = axis.at(timed.start), width = axis.at(timed.end) - left;
    const std::string name = short_name(timed.slot, shares);
    text += fmt::format(R"(<rect class="s-{}{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">)"
                        "<title>{}: {} from {}</title></rect>",
                        name_of(timed.slot.section), timed.slot.micro_batch % 2 == 1 ? " odd" : "", left, top->second,
                        std::max(0.3, width - 0.6), height, name, print_seconds(timed.end - timed.start),
                        print_seconds(timed.start));
    if (width > 8 + 6.5 * static_cast<double>(name.size())) {
      text += fmt::format(R"(<text class="slot" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                          left + width / 2, top->second + height / 2 + 4, name);
    }
  }
  return text + "</svg>";
}

std::string memory_chart(const DrawnOrder& drawn) {
  constexpr double kBottom = 190, kTop = 10;
  const Simulation simulation = follow(drawn).simulation;
  const std::vector<int> groups = some_of_groups(drawn.shape.group_count(), kMostLines);
  double most = 0;
  std::vector<std::vector<std::pair<double, double>>> lines;
  for (int group : groups) {
    lines.push_back(bytes_over_time(drawn, simulation, group));
    for (const auto& [time, bytes] : lines.back()) most = std::max(most, bytes);
  }
  const bool shows_device = drawn.memory > 0 && drawn.memory < 2.5 * most;
  const double highest = 1.08 * (shows_device ? std::max(most, drawn.memory) : most);
  const auto y = [&](double bytes) { return kBottom - bytes / std::max(highest, 1.0) * (kBottom - kTop); };
  const TimeAxis axis(simulation.seconds);
  std::string text = open_svg(kBottom + 20, "memory of groups of ranks over time") + axis.ticks(kTop, kBottom);
  for (double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double bytes = part * highest / 1.08;
    text += fmt::format(R"(<line class="tick" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                        R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)",
                        kLeft, kChartWidth - kRight, y(bytes), y(bytes), kLeft - 6, y(bytes) + 4, print_memory(bytes));
  }
  if (shows_device) {
    text += fmt::format(R"(<line class="limit" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                        R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">of a device: {}</text>)",
                        kLeft, kChartWidth - kRight, y(drawn.memory), y(drawn.memory), kChartWidth - kRight - 4,
                        y(drawn.memory) - 5, print_memory(drawn.memory));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string path;
    for (const auto& [time, bytes] : lines[i]) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", axis.at(time), y(bytes));
    }
    text += fmt::format(R"(<path class="line l{}" d="{}"><title>group {}</title></path>)", i, path, groups[i]);
  }
  text += "</svg><p class=\"legend\">";
  for (size_t i = 0; i < groups.size(); ++i) {
    text += fmt::format(R"(<span><i class="b{}"></i>group {}</span>)", i, groups[i]);
  }
  return text + "</p>";
}

}  // namespace partita
