#include "planner/explain/charts.h"

#include <algorithm>
#include <cmath>

#include "base/page/axis.h"
#include "ir/orders/sequence.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr double kLeft = kAxisLeft, kRight = kAxisRight;
constexpr size_t kMaxSpans = 8000;
constexpr int kMaxRows = 32, kMinRows = 4, kMaxLines = 6;
constexpr double kOverlappedHeight = 6;  // height of overlapped communication in pixels

/// Maps seconds to horizontal pixels.
class TimeAxis {
 public:
  explicit TimeAxis(double seconds) : seconds_(std::max(seconds, 1e-12)) {}
  double at(double seconds) const { return kLeft + seconds / seconds_ * (kChartWidth - kLeft - kRight); }

  /// SVG of vertical lines and labels at round times.
  std::string ticks(double top, double bottom) const {
    const double step = tick_step(seconds_, 6);
    std::string text;
    for (double t = 0; t <= seconds_ * 1.0001; t += step) {
      text += fmt::format(R"(<line class="tick" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>)"
                          R"(<text class="label" x="{0:.1f}" y="{3:.1f}" text-anchor="middle">{4}</text>)",
                          at(t), top, bottom, bottom + 14, print_seconds_tick(t));
    }
    return text;
  }

 private:
  double seconds_;
};

/// Returns the numbers of at most `most` of `count` groups, ascending and evenly spaced, including the first and, if
/// there are several, the last.
std::vector<int> some_of_groups(int count, int most) {
  std::vector<int> groups;
  const int shown = std::min(count, most);
  for (int i = 0; i < shown; ++i)
    groups.push_back(shown == 1 ? 0 : static_cast<int>(std::lround(double(i) * (count - 1) / (shown - 1))));
  return groups;
}

/// Returns the end of the last span in seconds; 0 without spans.
double drawn_seconds(const LayerStep& step) {
  double seconds = 0;
  for (const LayerStepGroup& group : step.groups) {
    for (const LayerSpan& span : group.spans) seconds = std::max(seconds, span.end);
  }
  return seconds;
}

bool is_overlapped(const LayerSpan& span) {
  return span.kind == LayerSpan::gather || span.kind == LayerSpan::reduce || span.kind == LayerSpan::transfer;
}

std::string_view class_of(const LayerSpan& span) {
  switch (span.kind) {
    case LayerSpan::forward: return "forward";
    case LayerSpan::backward: return "backward";
    case LayerSpan::weight: return "weight";
    case LayerSpan::update: return "update";
    default: return "comm";
  }
}

/// Returns the label of a span: "F3", "F3.1" for stage 1 if `with_stage`, or its kind, such as "gather".
std::string name_of_span(const LayerSpan& span, bool with_stage) {
  constexpr std::array kNames{"", "", "", "gather", "reduce", "transfer", "update"};
  if (span.kind > LayerSpan::weight) return kNames[span.kind];
  return short_name({span.stage, static_cast<StageSection>(span.kind), span.micro_batch}, with_stage);
}

/// Draws a span as a labelled rectangle.
class SpanPainter {
 public:
  SpanPainter(const TimeAxis& axis, bool with_stage) : axis_(axis), with_stage_(with_stage) {}

  std::string paint(const LayerSpan& span, double top, double height) const {
    const double left = axis_.at(span.begin), width = axis_.at(span.end) - left;
    const std::string name = name_of_span(span, with_stage_);
    const bool overlapped = is_overlapped(span);
    std::string text = fmt::format(R"(<rect class="s-{}{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">)"
                                   "<title>{}: {} from {}</title></rect>",
                                   class_of(span), span.micro_batch % 2 == 1 && !overlapped ? " odd" : "", left,
                                   overlapped ? top + height - kOverlappedHeight : top,
                                   std::max(0.3, width - (span.layer ? 0.2 : 0.6)),
                                   overlapped ? kOverlappedHeight : height - kOverlappedHeight - 1, name,
                                   print_seconds(span.end - span.begin), print_seconds(span.begin));
    if (!overlapped && !span.layer && width > 8 + 6.5 * static_cast<double>(name.size())) {
      text += fmt::format(R"(<text class="slot" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)",
                          left + width / 2, top + (height - kOverlappedHeight) / 2 + 3, name);
    }
    return text;
  }

 private:
  const TimeAxis& axis_;
  const bool with_stage_;
};

}  // namespace

std::string timeline_chart(const LayerStep& step, bool stages_share_ranks) {
  size_t spans = 0;
  for (const LayerStepGroup& group : step.groups) spans += group.spans.size();
  const size_t each = std::max<size_t>(1, spans / std::max<size_t>(1, step.groups.size()));
  const int most = std::clamp(static_cast<int>(kMaxSpans / each), kMinRows, kMaxRows);
  const std::vector<int> rows = some_of_groups(static_cast<int>(step.groups.size()), most);
  const double height = rows.size() > 12 ? 24 : 30, bottom = static_cast<double>(rows.size()) * (height + 4) + 4;
  const double seconds = drawn_seconds(step);
  const TimeAxis axis(seconds);
  const SpanPainter painter(axis, stages_share_ranks);
  std::string text =
      open_svg(kChartWidth, bottom + 20, "what the groups of ranks do over time") + axis.ticks(0, bottom);
  for (size_t i = 0; i < rows.size(); ++i) {
    const double top = 4 + static_cast<double>(i) * (height + 4);
    text +=
        fmt::format(R"(<rect class="idle" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)"
                    R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">group {}</text>)",
                    axis.at(0), top, axis.at(seconds) - axis.at(0), height, kLeft - 6, top + height / 2 + 4, rows[i]);
    for (const LayerSpan& span : step.groups[static_cast<size_t>(rows[i])].spans) {
      text += painter.paint(span, top, height);
    }
  }
  return text + "</svg>";
}

std::string memory_chart(const LayerStep& step, double device) {
  constexpr double kBottom = 190, kTop = 10;
  const std::vector<int> groups = some_of_groups(static_cast<int>(step.groups.size()), kMaxLines);
  const double seconds = drawn_seconds(step);
  double most = 0;
  for (int group : groups) {
    for (const MemoryPoint& point : step.groups[static_cast<size_t>(group)].memory) most = std::max(most, point.bytes);
  }
  const bool shows_device = device > 0 && device < 2.5 * most;
  const double highest = 1.08 * (shows_device ? std::max(most, device) : most);
  const auto y = [&](double bytes) { return kBottom - bytes / std::max(highest, 1.0) * (kBottom - kTop); };
  const TimeAxis axis(seconds);
  std::string text =
      open_svg(kChartWidth, kBottom + 20, "memory of groups of ranks over time") + axis.ticks(kTop, kBottom);
  for (double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double bytes = part * highest / 1.08;
    text += fmt::format(R"(<line class="tick" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                        R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)",
                        kLeft, kChartWidth - kRight, y(bytes), y(bytes), kLeft - 6, y(bytes) + 4, print_memory(bytes));
  }
  if (shows_device) {
    text += fmt::format(R"(<line class="limit" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                        R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">of a device: {}</text>)",
                        kLeft, kChartWidth - kRight, y(device), y(device), kChartWidth - kRight - 4, y(device) - 5,
                        print_memory(device));
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    std::string path;
    double last = 0;
    for (const MemoryPoint& point : step.groups[static_cast<size_t>(groups[i])].memory) {
      if (!path.empty()) path += fmt::format("L{:.1f} {:.1f}", axis.at(point.seconds), y(last));
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", axis.at(point.seconds), y(point.bytes));
      last = point.bytes;
    }
    if (!path.empty()) path += fmt::format("L{:.1f} {:.1f}", axis.at(seconds), y(last));
    text += fmt::format(R"(<path class="line l{}" d="{}"><title>group {}</title></path>)", i, path, groups[i]);
  }
  text += "</svg><p class=\"legend\">";
  for (size_t i = 0; i < groups.size(); ++i) {
    text += fmt::format(R"(<span><i class="b{}"></i>group {}</span>)", i, groups[i]);
  }
  return text + "</p>";
}

}  // namespace partita
