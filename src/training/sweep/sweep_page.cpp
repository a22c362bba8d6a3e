#include "training/sweep/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page/axis.h"
#include "base/page/html.h"
#include "base/page/line_chart.h"
#include "base/plain_text.h"
#include "training/runs/run_summary.h"
#include "training/sweep/run_sweep.h"

namespace partita {
namespace {

constexpr size_t kMaxRows = 500, kMaxDrawnTrials = 1000, kMaxLabels = 8;
constexpr double kTop = 40, kBottom = 290, kSide = 70;

/// The positions of the values of one key, or of the metric: numbers by their size, other texts at equal distances.
class KeyScale {
 public:
  KeyScale(std::string title, std::vector<std::string> values) : title_(std::move(title)) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const std::string& value : values) {
      const std::optional<double> number = parse_number<double>(value);
      if (number && std::isfinite(*number)) numbers_.push_back(*number);
    }
    texts_ = values;
    if (numbers_.size() != texts_.size()) numbers_.clear();
    std::ranges::sort(numbers_);
    if (numbers_.empty()) return;
    const bool is_log = numbers_.front() > 0 && numbers_.back() > 20 * numbers_.front();
    axis_.emplace(numbers_.front(), numbers_.back(), kBottom, kTop, is_log);
  }

  double at(const std::string& value) const {
    if (axis_) return axis_->at(parse_number<double>(value).value_or(0));
    const auto place = static_cast<double>(std::ranges::lower_bound(texts_, value) - texts_.begin());
    if (texts_.size() < 2) return (kTop + kBottom) / 2;
    return kBottom - place / static_cast<double>(texts_.size() - 1) * (kBottom - kTop);
  }

  std::string svg(double x) const {
    std::string text = fmt::format(R"(<line class="tick" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)"
                                   R"(<text class="label halo" x="{0:.1f}" y="18" text-anchor="middle">{3}</text>)",
                                   x, kTop, kBottom, escaped_html(title_));
    for (const auto& [y, label] : labels()) {
      text += fmt::format(R"(<text class="label halo" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", x - 6, y + 4,
                          escaped_html(label));
    }
    return text;
  }

 private:
  std::vector<std::pair<double, std::string>> labels() const {
    std::vector<std::pair<double, std::string>> all;
    if (axis_ && numbers_.size() > kMaxLabels) {
      for (const double value : axis_->ticks(6)) all.emplace_back(axis_->at(value), print_number_tick(value));
    } else if (axis_) {
      for (const double value : numbers_) all.emplace_back(axis_->at(value), fmt::format("{:.4g}", value));
    } else {
      const size_t shown = std::min(texts_.size(), kMaxLabels);
      for (size_t i = 0; i < shown; ++i) {
        const std::string& text = texts_[shown == 1 ? 0 : i * (texts_.size() - 1) / (shown - 1)];
        all.emplace_back(at(text), text.size() > 14 ? text.substr(0, 13) + ".." : text);
      }
    }
    return all;
  }

  std::string title_;
  std::vector<double> numbers_;  // empty unless all values are numbers
  std::vector<std::string> texts_;
  std::optional<Axis> axis_;
};

std::string short_key(const std::string& key) { return key.substr(key.find('.') + 1); }

class SweepPage {
 public:
  SweepPage(const Sweep& sweep, const std::vector<TrialResult>& results)
      : sweep_(sweep), results_(results), order_(ranked(results, sweep.metric)) {
    std::erase_if(order_, [&](size_t i) { return !has_metric(i); });
  }

  std::string html() const {
    const std::string title = fmt::format("Sweep of {}", sweep_.model.empty() ? sweep_.path : sweep_.model);
    std::string body = fmt::format("<h1>{}</h1>\n<p class=\"soft\">{} search over {} &#183; {} metric {}</p>\n",
                                   escaped_html(title), name_of(sweep_.search), escaped_html(keys()),
                                   is_better_if_larger(sweep_.metric) ? "largest" : "smallest", name_of(sweep_.metric));
    body += figures();
    if (!order_.empty()) body += section("Trials over their keys", coordinates()) + over_keys();
    body += section("All trials", table());
    return html_document(title, body + kChartScript);
  }

 private:
  bool has_metric(size_t i) const { return !results_[i].failed && !std::isnan(results_[i].number(sweep_.metric)); }

  std::string keys() const {
    std::string text;
    for (const SweepKey& key : sweep_.keys) text += (text.empty() ? "" : ", ") + key.key;
    return text;
  }

  std::string figures() const {
    Figures figures;
    const auto failed = std::ranges::count_if(results_, &TrialResult::failed);
    double seconds = 0;
    for (const TrialResult& one : results_) seconds += one.seconds;
    if (!order_.empty()) {
      const TrialResult& best = results_[order_[0]];
      figures.add(print_value(best.number(sweep_.metric)), fmt::format("best {}", name_of(sweep_.metric)));
      for (const auto& [key, value] : best.values) figures.add(value, short_key(key) + " of the best");
    }
    figures.add(fmt::format("{}", results_.size()), "trials");
    if (failed > 0) figures.add(fmt::format("{}", failed), "failed");
    figures.add(print_duration(seconds), "of training");
    return figures.html();
  }

  /// Draws the worst trials first and faint, the best one last.
  std::string coordinates() const {
    std::vector<KeyScale> scales;
    for (size_t k = 0; k < sweep_.keys.size(); ++k) {
      std::vector<std::string> values;
      for (const size_t i : order_) values.push_back(results_[i].values[k].second);
      scales.emplace_back(short_key(sweep_.keys[k].key), std::move(values));
    }
    std::vector<std::string> metrics;
    for (const size_t i : order_) metrics.push_back(metric_text(i));
    scales.emplace_back(std::string(name_of(sweep_.metric)), std::move(metrics));
    const double distance = (kChartWidth - 2 * kSide) / static_cast<double>(scales.size() - 1);
    const auto x = [&](size_t k) { return kSide + distance * static_cast<double>(k); };
    std::string text = open_svg(kChartWidth, kBottom + 16, "a line per trial over the values of its keys");
    for (size_t drawn = std::min(order_.size(), kMaxDrawnTrials); drawn-- > 0;) {
      const TrialResult& trial = results_[order_[drawn]];
      std::string path;
      double last_y = 0;
      for (size_t k = 0; k < scales.size(); ++k) {
        const std::string value = k < trial.values.size() ? trial.values[k].second : metric_text(order_[drawn]);
        const double y = scales[k].at(value), middle = x(k) - distance / 2;
        path += k == 0 ? fmt::format("M{:.1f} {:.1f}", x(k), y)
                       : fmt::format("C{0:.1f} {1:.1f} {0:.1f} {2:.1f} {3:.1f} {2:.1f}", middle, last_y, y, x(k));
        last_y = y;
      }
      const double worse = order_.size() < 2 ? 0 : static_cast<double>(drawn) / static_cast<double>(order_.size() - 1);
      const int color = drawn == 0 ? 1 : 0;
      text += fmt::format(
          R"(<path class="line l{}" style="opacity:{:.2f};stroke-width:{}" d="{}"><title>{}: {}</title></path>)", color,
          drawn == 0 ? 1 : 0.75 - 0.6 * worse, drawn == 0 ? 2.6 : 1.6, path, escaped_html(print_values(trial.values)),
          metric_text(order_[drawn]));
    }
    for (size_t k = 0; k < scales.size(); ++k) text += scales[k].svg(x(k));
    return text +
           "</svg><p class=\"legend\"><span><i class=\"b1\"></i>the best trial</span><span><i "
           "class=\"b0\"></i>others, the better the stronger</span></p>";
  }

  std::string over_keys() const {
    std::string charts;
    for (size_t k = 0; k < sweep_.keys.size(); ++k) {
      std::vector<ChartPoint> points;
      for (const size_t i : order_) {
        const std::optional<double> value = parse_number<double>(results_[i].values[k].second);
        if (value) points.push_back({*value, results_[i].number(sweep_.metric)});
      }
      if (points.size() < order_.size()) continue;  // names have no order
      std::ranges::sort(points, {}, &ChartPoint::x);
      const bool is_log = points.front().x > 0 && points.back().x > 20 * points.front().x;
      LineChart chart{.label = "the metric over a key",
                      .lines = {{std::string(name_of(sweep_.metric)), 0, ChartLine::marks, std::move(points)}},
                      .print = print_value,
                      .print_tick = print_number_tick,
                      .is_log = spans_much(),
                      .is_log_x = is_log,
                      .x_name = short_key(sweep_.keys[k].key)};
      charts += section(sweep_.keys[k].key, line_chart(chart));
    }
    return charts.empty() ? "" : "<div class=\"grid\">" + charts + "</div>";
  }

  std::string table() const {
    std::string text = "<div class=\"scroll\"><table><tr>";
    for (const SweepKey& key : sweep_.keys) text += fmt::format("<th>{}</th>", escaped_html(short_key(key.key)));
    text += fmt::format("<th>{}</th><th>loss</th><th>a step</th><th>time</th><th class=\"t\">run</th></tr>",
                        name_of(sweep_.metric));
    const std::vector<size_t> all = ranked(results_, sweep_.metric);
    for (size_t row = 0; row < std::min(all.size(), kMaxRows); ++row) {
      const TrialResult& one = results_[all[row]];
      text += row == 0 && has_metric(all[row]) ? "<tr class=\"chosen\">" : "<tr>";
      for (const auto& [key, value] : one.values) text += fmt::format("<td>{}</td>", escaped_html(value));
      if (one.failed) {
        text += fmt::format("<td class=\"bad t w\" colspan=\"3\">failed: {}</td>", escaped_html(one.error));
      } else {
        text +=
            fmt::format("<td>{}</td><td>{}</td><td>{}</td>", print_value(one.number(sweep_.metric)),
                        print_value(one.number(SweepMetric::loss)), print_span(one.number(SweepMetric::step_seconds)));
      }
      text += fmt::format("<td>{}</td><td class=\"t mono\">{}</td></tr>", print_duration(one.seconds),
                          escaped_html(one.run));
    }
    text += "</table></div>";
    if (all.size() > kMaxRows) text += fmt::format("<p class=\"soft\">The best {} of {}.</p>", kMaxRows, all.size());
    return text;
  }

  bool spans_much() const {
    const double first = results_[order_.front()].number(sweep_.metric),
                 last = results_[order_.back()].number(sweep_.metric);
    return std::min(first, last) > 0 && std::max(first, last) > 20 * std::min(first, last);
  }

  std::string metric_text(size_t i) const { return fmt::format("{:.6g}", results_[i].number(sweep_.metric)); }

  const Sweep& sweep_;
  const std::vector<TrialResult>& results_;
  std::vector<size_t> order_;  // trials that have the metric, the best first
};

}  // namespace

std::string print_sweep(const Sweep& sweep, const std::vector<TrialResult>& results, size_t most) {
  const std::vector<size_t> order = ranked(results, sweep.metric);
  std::vector<std::vector<std::string>> rows(1);
  for (const SweepKey& key : sweep.keys) rows[0].push_back(short_key(key.key));
  for (const std::string_view title : {name_of(sweep.metric), std::string_view("a step"), std::string_view("run")}) {
    rows[0].emplace_back(title);
  }
  for (size_t i = 0; i < std::min(order.size(), most); ++i) {
    const TrialResult& one = results[order[i]];
    std::vector<std::string>& row = rows.emplace_back();
    for (const auto& [key, value] : one.values) row.push_back(value);
    row.push_back(one.failed ? "failed" : print_value(one.number(sweep.metric)));
    row.push_back(print_span(one.number(SweepMetric::step_seconds)));
    row.push_back(one.run);
  }
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) text += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", row[i], widths[i]);
    text += "\n";
  }
  if (order.size() > most) text += fmt::format("the best {} of {} trials\n", most, order.size());
  return text;
}

std::string sweep_page(const Sweep& sweep, const std::vector<TrialResult>& results) {
  return SweepPage(sweep, results).html();
}

}  // namespace partita
