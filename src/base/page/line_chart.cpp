#include "base/page/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/page/axis.h"
#include "base/page/html.h"

namespace partita {
namespace {

constexpr double kLeft = 62, kRight = 18, kTop = 10, kBelow = 22;
constexpr double kMaxDrawn = 1e300;  // larger values are drawn as this one, so that ranges are finite
constexpr size_t kMaxMarks = 200, kReadouts = 160;
constexpr size_t kMaxDots = 400;

double drawn(double value) { return std::clamp(value, -kMaxDrawn, kMaxDrawn); }

/// Returns a name without the separators of readouts.
std::string readable(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '|' || c == '~'; }, '_');
  return name;
}

/// The range of the finite values.
struct Range {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  void add(double value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, drawn(value));
    most = std::max(most, drawn(value));
  }
  bool is_empty() const { return least > most; }
};

class Painter {
 public:
  Painter(const LineChart& chart, const Range& x, const Range& y, bool is_log)
      : chart_(chart),
        is_log_(is_log),
        bottom_(chart.height - kBelow),
        x_(x.least, x.most, kLeft, chart.width - kRight, chart.is_log_x),
        y_(y.least, y.most, bottom_, kTop, is_log) {}

  std::string svg() const {
    std::string text = open_svg(chart_.width, chart_.height, escaped_html(chart_.label)) + grid();
    for (const ChartLine& line : chart_.lines) text += line.look >= ChartLine::dots ? dots(line) : path(line);
    for (size_t i = 0; i < std::min(chart_.bad.size(), kMaxMarks); ++i) {
      const double x = x_.at(chart_.bad[i * chart_.bad.size() / std::min(chart_.bad.size(), kMaxMarks)]);
      text += fmt::format(R"(<circle class="gap" cx="{:.1f}" cy="{:.1f}" r="2.6"/>)", x, bottom_ - 4);
    }
    return text + "</svg>";
  }

  /// Returns the attributes of the values under the pointer: positions and texts, separated by '|'.
  std::string readouts() const {
    const ChartLine* longest = &chart_.lines[0];
    for (const ChartLine& line : chart_.lines) {
      if (line.points.size() > longest->points.size()) longest = &line;
    }
    const size_t count = std::min(kReadouts, longest->points.size());
    std::string at, texts;
    for (size_t i = 0; i < count; ++i) {
      const double x = longest->points[count == 1 ? 0 : i * (longest->points.size() - 1) / (count - 1)].x;
      at += fmt::format("{}{:.1f}", i == 0 ? "" : "|", x_.at(x));
      texts += fmt::format("{}{} {:.10g}", i == 0 ? "" : "|", chart_.x_name, x);
      for (const ChartLine& line : chart_.lines) {
        const std::optional<double> y = value_at(line, x);
        if (y && !line.name.empty()) {
          texts += fmt::format("~{}{}: {}", line.color, readable(line.name),
                               std::isfinite(*y) ? chart_.print(*y) : "not finite");
        }
      }
    }
    return fmt::format(R"( data-at="{}" data-texts="{}" data-width="{}")", at, escaped_html(texts), chart_.width);
  }

 private:
  std::string grid() const {
    std::string text;
    double unit = 1;
    while (chart_.is_binary && unit * 1024 <= y_.high()) unit *= 1024;
    for (const double value : y_.ticks(is_log_ ? 6 : 4, unit)) {
      text += fmt::format(R"(<line class="tick" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                          R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)",
                          kLeft, chart_.width - kRight, y_.at(value), y_.at(value), kLeft - 6, y_.at(value) + 4,
                          escaped_html(chart_.print_tick ? chart_.print_tick(value) : chart_.print(value)));
    }
    for (const double value : x_.ticks(chart_.width > 700 ? 9 : 5)) {
      text += fmt::format(R"(<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x_.at(value),
                          chart_.height - 6, print_number_tick(value));
    }
    for (size_t i = 0; i < std::min(chart_.restarts.size(), kMaxMarks); ++i) {
      text += fmt::format(R"(<line class="rise" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>)",
                          x_.at(chart_.restarts[i]), kTop, bottom_);
    }
    return text;
  }

  std::string path(const ChartLine& line) const {
    std::string path, points;
    bool is_begun = false;
    size_t alone = 0;  // points of the present piece
    double last_x = 0, last_y = 0;
    const auto end_piece = [&] {
      if (alone == 1) points += dot(line.color, last_x, last_y, 2);
      alone = 0;
    };
    for (const auto& [x, y] : thinned(line.points, static_cast<int>(chart_.width))) {
      if (!std::isfinite(y)) {
        is_begun = false;
        end_piece();
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", is_begun ? "L" : "M", x_.at(x), y_.at(drawn(y)));
      is_begun = true;
      ++alone;
      last_x = x;
      last_y = y;
    }
    end_piece();
    constexpr const char* kLooks[] = {"", " faint", " dashed", "", ""};
    return fmt::format(R"(<path class="line l{}{}" d="{}"/>)", line.color, kLooks[line.look], path) + points;
  }

  std::string dots(const ChartLine& line) const {
    std::string text;
    if (line.points.size() > 1 && line.look == ChartLine::dots) text = path(line);
    if (line.points.size() > kMaxDots && line.look == ChartLine::dots) return text;
    for (const auto& [x, y] : line.points) {
      if (std::isfinite(y)) text += dot(line.color, x, y, line.points.size() > 60 ? 2 : 3);
    }
    return text;
  }

  std::string dot(int color, double x, double y, int radius) const {
    return fmt::format(R"(<circle class="d{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>)", color, x_.at(x), y_.at(drawn(y)),
                       radius);
  }

  /// Returns the value of the nearest point, unless it is farther away than a hundredth of the range.
  std::optional<double> value_at(const ChartLine& line, double x) const {
    const auto after = std::ranges::lower_bound(line.points, x, {}, &ChartPoint::x);
    const ChartPoint* best = nullptr;
    for (const auto& one : {after, after == line.points.begin() ? after : after - 1}) {
      if (one != line.points.end() && (best == nullptr || std::abs(one->x - x) < std::abs(best->x - x))) best = &*one;
    }
    if (best == nullptr || std::abs(best->x - x) > (x_.high() - x_.low()) / 100) return std::nullopt;
    return best->y;
  }

  const LineChart& chart_;
  const bool is_log_;
  const double bottom_;
  const Axis x_, y_;
};

std::string legend_of(const LineChart& chart) {
  std::string text;
  for (const ChartLine& line : chart.lines) {
    if (line.name.empty()) continue;
    text += fmt::format(R"(<span><i class="b{}{}"></i>{}</span>)", line.color,
                        line.look == ChartLine::faint ? " faint" : "", escaped_html(line.name));
  }
  if (!chart.bad.empty()) text += fmt::format(R"(<span><i class="b5"></i>not finite: {}</span>)", chart.bad.size());
  return text.empty() ? "" : "<p class=\"legend\">" + text + "</p>";
}

}  // namespace

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, int columns) {
  const auto most = static_cast<size_t>(4 * columns);
  if (points.size() <= most) return points;
  std::vector<ChartPoint> kept;
  const double first = points.front().x, span = std::max(points.back().x - first, 1e-300);
  for (size_t begin = 0; begin < points.size();) {
    const auto column_of = [&](const ChartPoint& point) { return std::floor((point.x - first) / span * columns); };
    size_t end = begin;
    std::vector<size_t> chosen{begin};
    std::optional<size_t> low, high, bad;
    for (const double column = column_of(points[begin]); end < points.size() && column_of(points[end]) == column;
         ++end) {
      const double y = points[end].y;
      if (!std::isfinite(y)) {
        bad = end;
        continue;
      }
      if (!low || y < points[*low].y) low = end;
      if (!high || y > points[*high].y) high = end;
    }
    for (const auto& one : {low, high, bad}) {
      if (one) chosen.push_back(*one);
    }
    chosen.push_back(end - 1);
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const size_t one : chosen) kept.push_back(points[one]);
    begin = end;
  }
  return kept;
}

std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points, double half_life) {
  std::vector<ChartPoint> result;
  const double keep = std::exp2(-1 / half_life);
  double mean = 0, weight = 0;
  for (const auto& [x, y] : points) {
    if (!std::isfinite(y)) continue;
    weight = keep * weight + 1;
    mean += (y - mean) / weight;
    result.push_back({x, mean});
  }
  return result;
}

std::string line_chart(const LineChart& chart) {
  Range x, y;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      if (std::isfinite(point.y)) x.add(point.x);
      y.add(point.y);
    }
  }
  if (y.is_empty()) return "";
  for (const double one : chart.bad) x.add(one);
  const bool is_log = chart.is_log && y.least > 0;
  if (chart.from_zero && !is_log) y.least = std::min(y.least, 0.0);
  if (!is_log && y.most > y.least) y.most += 0.04 * (y.most - y.least);
  y.most = std::min(y.most, std::max(chart.largest, y.least));
  if (y.least == y.most && y.most == chart.largest) y.least -= 0.1 * std::abs(chart.largest);
  const Painter painter(chart, x, y, is_log);
  return fmt::format("<div class=\"chart\"{}>{}</div>{}", painter.readouts(), painter.svg(), legend_of(chart));
}

const char* const kChartScript = R"(<script>
for (const chart of document.querySelectorAll('.chart[data-at]')) {
  const at = chart.dataset.at.split('|').map(Number), texts = chart.dataset.texts.split('|');
  const width = Number(chart.dataset.width), svg = chart.querySelector('svg');
  const tip = document.createElement('div'), line = document.createElementNS(svg.namespaceURI, 'line');
  tip.className = 'tip';
  tip.hidden = true;
  chart.append(tip);
  line.setAttribute('class', 'rise');
  line.setAttribute('y1', 10);
  line.setAttribute('y2', svg.viewBox.baseVal.height - 22);
  line.style.display = 'none';
  svg.append(line);
  const hide = () => { tip.hidden = true; line.style.display = 'none'; };
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * width / box.width;
    let best = 0;
    at.forEach((one, i) => { if (Math.abs(one - x) < Math.abs(at[best] - x)) best = i; });
    tip.replaceChildren();
    texts[best].split('~').forEach((text, i) => {
      const row = document.createElement('div');
      if (i > 0) {
        const mark = document.createElement('i');
        mark.className = 'b' + text[0];
        row.append(mark);
      }
      row.append(i > 0 ? text.slice(1) : text);
      tip.append(row);
    });
    line.setAttribute('x1', at[best]);
    line.setAttribute('x2', at[best]);
    line.style.display = '';
    tip.hidden = false;
    const left = at[best] * box.width / width;
    tip.style.top = '8px';
    tip.style.left = (left + tip.offsetWidth + 14 > box.width ? left - tip.offsetWidth - 10 : left + 10) + 'px';
  });
}
</script>
)";

}  // namespace partita
