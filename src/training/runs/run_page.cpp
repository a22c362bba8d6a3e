#include "training/runs/run_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page/axis.h"
#include "base/page/html.h"
#include "training/runs/run_charts.h"
#include "training/runs/run_summary.h"

namespace partita {
namespace {

constexpr size_t kMaxRanks = 32, kMaxCheckpoints = 40;

std::string cells(const std::vector<std::string>& texts) {
  std::string row = "<tr>";
  for (size_t i = 0; i < texts.size(); ++i) {
    row += fmt::format("<td{}>{}</td>", i == 0 ? " class=\"t\"" : "", escaped_html(texts[i]));
  }
  return row + "</tr>";
}

class RunPage {
 public:
  explicit RunPage(const RunRecord& run) : run_(run), summary_(summary_of(run)) {}

  std::string html() const {
    const std::string title = run_.model.empty() ? run_.name : fmt::format("{} in {}", run_.model, run_.name);
    std::string body = head() + figures() + remarks();
    const std::vector<const RunRecord*> runs{&run_};
    const std::string loss = chart_of(runs, Quantity::loss, kChartWidth, 280);
    body += section("Loss", loss.empty() ? "<p class=\"soft\">No step has a finite loss.</p>" : loss);
    std::string charts;
    for (const Quantity quantity : {Quantity::validation_accuracy, Quantity::learning_rate, Quantity::step_seconds,
                                    Quantity::rate, Quantity::memory, Quantity::exposed, Quantity::loss_scale}) {
      charts += chart_section(runs, quantity);
    }
    if (!charts.empty()) body += "<div class=\"grid\">" + charts + "</div>";
    body += prediction() + ranks() + checkpoints() + configuration() + kChartScript;
    return html_document(title, body);
  }

 private:
  std::string head() const {
    const std::string state = state_of(run_);
    std::string text = fmt::format("<h1>{}{}</h1>\n", escaped_html(run_.model.empty() ? run_.name : run_.model),
                                   state.empty() ? "" : fmt::format("<span class=\"state\">{}</span>", state));
    std::string where = fmt::format("<span class=\"mono\">{}</span>", escaped_html(run_.path));
    const auto add = [&](const std::string& part) { where += " &#183; " + escaped_html(part); };
    if (run_.ranks > 0) {
      add(fmt::format("{} rank{} of {} thread{} on {}", run_.ranks, run_.ranks == 1 ? "" : "s", run_.threads,
                      run_.threads == 1 ? "" : "s", run_.device));
    }
    if (!run_.starts.empty()) {
      const LoggedStart& start = run_.starts.front();
      add("host " + start.host);
      add("began " + start.time);
      add("partita " + start.version);
    }
    return text + "<p class=\"soft\">" + where + "</p>\n";
  }

  std::string figures() const {
    Figures figures;
    figures.add(print_value(summary_.loss),
                fmt::format("loss, mean of the last {} steps", std::min<int64_t>(summary_.steps, kLastSteps)));
    if (!std::isnan(summary_.validation_loss)) {
      figures.add(print_value(summary_.validation_loss), "best validation loss");
    }
    if (summary_.validation_accuracy > 0) {
      figures.add(fmt::format("{:.2f} %", 100 * summary_.validation_accuracy), "best validation accuracy");
    }
    if (!std::isnan(run_.test_accuracy)) {
      figures.add(fmt::format("{:.2f} %", 100 * run_.test_accuracy), "test accuracy");
    } else if (!std::isnan(run_.test_loss)) {
      figures.add(print_value(run_.test_loss), "test loss");
    }
    figures.add(print_count(summary_.last_step), run_.planned_steps > summary_.last_step
                                                     ? fmt::format("of {} steps", print_count(run_.planned_steps))
                                                     : "steps");
    if (!std::isnan(summary_.step_seconds)) figures.add(print_span(summary_.step_seconds), "a step, the median");
    if (!std::isnan(summary_.rate)) figures.add(print_value(summary_.rate), "rows a second");
    if (!std::isnan(summary_.memory)) figures.add(print_size(summary_.memory), "memory at most");
    figures.add(print_duration(summary_.total_seconds), "in steps");
    return figures.html();
  }

  std::string remarks() const {
    const std::vector<std::string> all = remarks_on(run_, summary_);
    if (all.empty()) return "";
    std::string list = "<ul class=\"notes\">";
    for (const std::string& one : all) list += fmt::format("<li>{}</li>", escaped_html(one));
    return section("To know", list + "</ul>");
  }

  std::string prediction() const {
    if (!run_.predicted) return "";
    const LoggedPrediction& predicted = *run_.predicted;
    std::string rows;
    const auto add = [&](std::string_view what, double expected, double measured) {
      const double ratio = measured / expected;
      rows += cells({std::string(what), print_span(expected), print_span(measured),
                     std::isfinite(ratio) ? fmt::format("{:.2f}", ratio) : "-"});
    };
    add("step", predicted.step, summary_.step_seconds);
    const double busy = summary_.busy.empty() ? kUnknown : *std::ranges::max_element(summary_.busy);
    add("computation of the busiest rank", predicted.compute, busy);
    if (run_.ranks > 1) add("exposed communication", predicted.exposed, summary_.exposed);
    if (predicted.bubble > 0) add("waiting for other stages", predicted.bubble, kUnknown);
    return section("Predicted and measured",
                   "<table style=\"width:auto\"><tr><th class=\"t\">of a step</th><th>predicted</th><th>measured</th>"
                   "<th>measured / predicted</th></tr>" +
                       rows + "</table>" +
                       fmt::format("<p class=\"soft\">Predicted for the cluster {}. Measured are medians over the "
                                   "steps; computation is a mean, with the warm-up.{}</p>",
                                   escaped_html(predicted.cluster), memory_sentence()));
  }

  std::string memory_sentence() const {
    if (std::isnan(run_.rank_memory)) return "";
    return escaped_html(
        fmt::format(" The schedule gives each rank at most {} for states and activations; the first "
                    "process had {} resident at most, with rows and code.",
                    print_size(run_.rank_memory), print_size(summary_.memory)));
  }

  std::string ranks() const {
    const std::vector<double>& busy = summary_.busy;
    if (busy.size() < 2) return "";
    const double slowest = std::max(*std::ranges::max_element(busy), 1e-12);
    const double whole = std::max(slowest, std::isnan(summary_.step_seconds) ? 0 : summary_.step_seconds);
    std::string rows;
    const size_t shown = std::min(busy.size(), kMaxRanks);
    for (size_t i = 0; i < shown; ++i) {
      const size_t rank = shown == 1 ? 0 : i * (busy.size() - 1) / (shown - 1);
      rows += fmt::format(
          "<tr><td class=\"t\">rank {}</td><td style=\"width:55%\"><div class=\"bar small\"><i class=\"c-forward\" "
          "style=\"width:{:.2f}%\"></i></div></td><td>{}</td><td>{:.1f} % of the slowest</td></tr>",
          rank, 100 * busy[rank] / whole, print_span(busy[rank]), 100 * busy[rank] / slowest);
    }
    std::string text = "<table>" + rows + "</table>" +
                       "<p class=\"soft\">Mean time of a step in which a rank did not wait for others. The bar is the "
                       "whole step.</p>";
    if (busy.size() > shown) text += fmt::format("<p class=\"soft\">{} of {} ranks.</p>", shown, busy.size());
    return section("Time by rank", text + skew());
  }

  /// Returns a chart of the slowest and the fastest rank over the steps.
  std::string skew() const {
    if (run_.times.size() < 2) return "";
    LineChart chart{.label = "time of the slowest and the fastest rank",
                    .lines = {{"slowest rank", 1, ChartLine::plain, {}}, {"fastest rank", 2, ChartLine::plain, {}}},
                    .print = print_span,
                    .print_tick = print_seconds_tick,
                    .from_zero = true,
                    .width = kChartWidth,
                    .height = 180};
    for (const LoggedTimes& times : run_.times) {
      if (times.busy.empty()) continue;
      const auto [least, most] = std::ranges::minmax(times.busy);
      const auto steps = static_cast<double>(std::max<int64_t>(times.steps, 1)), at = static_cast<double>(times.step);
      chart.lines[0].points.push_back({at, most / steps});
      chart.lines[1].points.push_back({at, least / steps});
    }
    return line_chart(chart);
  }

  std::string checkpoints() const {
    if (run_.checkpoints.empty()) return "";
    const size_t count = run_.checkpoints.size(), shown = std::min(count, kMaxCheckpoints);
    std::string rows;
    for (size_t i = count - shown; i < count; ++i) {
      const LoggedCheckpoint& one = run_.checkpoints[i];
      rows += fmt::format("<tr><td>{}</td><td class=\"t\">{}</td><td class=\"t mono w\">{}</td></tr>",
                          print_count(one.step), escaped_html(one.time), escaped_html(one.path));
    }
    return section("Checkpoints",
                   (shown < count ? fmt::format("<p class=\"soft\">The last {} of {}.</p>", shown, count) : "") +
                       "<table style=\"width:auto\"><tr><th>after step</th><th class=\"t\">written</th><th "
                       "class=\"t\">path</th></tr>" +
                       rows + "</table>");
  }

  std::string configuration() const {
    if (run_.configuration.empty()) return "";
    std::string main;
    for (const auto& [key, value] : run_.settings) {
      for (const char* shown : {"training.batch", "training.precision", "training.seed", "optimizer.kind",
                                "schedule.kind", "schedule.learning_rate", "plan.parallel", "ranks.count"}) {
        if (key == shown)
          main += fmt::format("<span class=\"chip\">{} {}</span>", escaped_html(key.substr(key.find('.') + 1)),
                              escaped_html(value));
      }
    }
    return section("Configuration",
                   main + fmt::format("<details><summary>All of it, as <code>partita train --config</code> reads it"
                                      "</summary><pre>{}</pre></details>",
                                      escaped_html(run_.configuration)));
  }

  const RunRecord& run_;
  const RunSummary summary_;
};

}  // namespace

std::string run_page(const RunRecord& run) { return RunPage(run).html(); }

std::string print_run(const RunRecord& run) {
  const RunSummary summary = summary_of(run);
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<20} {}\n", name, value);
  };
  if (!run.model.empty()) add("model", run.model);
  add("steps", print_count(summary.last_step) +
                   (run.planned_steps > 0 ? fmt::format(" of {}", print_count(run.planned_steps)) : ""));
  add("loss", fmt::format("{}, at best {}", print_value(summary.loss), print_value(summary.best_loss)));
  if (!std::isnan(summary.validation_loss)) {
    add("validation", fmt::format("loss {}, accuracy {}", print_value(summary.validation_loss),
                                  print_value(summary.validation_accuracy)));
  }
  add("step", fmt::format("{}{}, {} rows a second", print_span(summary.step_seconds),
                          run.predicted ? fmt::format(" ({} predicted)", print_span(run.predicted->step)) : "",
                          print_value(summary.rate)));
  if (!std::isnan(summary.memory)) add("memory", print_size(summary.memory));
  for (const std::string& one : remarks_on(run, summary)) add("note", one);
  return text;
}

}  // namespace partita
