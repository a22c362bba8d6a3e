#include "training/runs/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "base/page/axis.h"
#include "base/page/html.h"
#include "training/runs/run_charts.h"
#include "training/runs/run_summary.h"

namespace partita {
namespace {

constexpr size_t kMinWidth = 12, kMaxWidth = 28;  // width of a column in characters

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const auto& part : std::filesystem::path(path)) {
    if (!part.empty()) parts.push_back(part.string());
  }
  return parts;
}

std::string last_parts(const std::vector<std::string>& parts, size_t count) {
  std::string name;
  for (size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i) {
    name += (name.empty() || name.ends_with('/') ? "" : "/") + parts[i];
  }
  return name;
}

std::string value_of(const RunRecord& run, const std::string& key) {
  for (const auto& [name, value] : run.settings) {
    if (name == key) return value.empty() ? "-" : value;
  }
  return "-";
}

std::string cut(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

std::string print_table(const std::vector<ComparedRow>& rows, const std::vector<size_t>& widths, size_t first) {
  std::string text;
  for (const ComparedRow& row : rows) {
    std::string line = fmt::format("{:<{}}", cut(row.caption, first), first);
    for (size_t i = 0; i < widths.size(); ++i)
      line += fmt::format("  {:>{}}", cut(row.values[i], widths[i]), widths[i]);
    text += line + "\n";
  }
  return text;
}

std::string html_table(const std::vector<ComparedRow>& rows, const std::vector<RunRecord>& runs) {
  std::string text = "<div class=\"scroll\"><table style=\"width:auto\"><tr><th></th>";
  for (size_t i = 0; i < runs.size(); ++i) {
    text += fmt::format("<th><span class=\"legend\"><i class=\"b{}\"></i></span>{}</th>", i % 6,
                        escaped_html(runs[i].name));
  }
  text += "</tr>";
  for (const ComparedRow& row : rows) {
    text += fmt::format("<tr><td class=\"t\">{}</td>", escaped_html(row.caption));
    for (const std::string& value : row.values) text += fmt::format("<td>{}</td>", escaped_html(value));
    text += "</tr>";
  }
  return text + "</table></div>";
}

}  // namespace

void name_apart(std::vector<RunRecord>& runs) {
  std::vector<std::vector<std::string>> parts;
  size_t longest = 1;
  for (const RunRecord& run : runs) {
    parts.push_back(parts_of(run.path));
    longest = std::max(longest, parts.back().size());
  }
  for (size_t count = 1; count <= longest; ++count) {
    std::set<std::string> names;
    for (size_t i = 0; i < runs.size(); ++i) names.insert(runs[i].name = last_parts(parts[i], count));
    if (names.size() == runs.size()) return;
  }
  for (size_t i = 0; i < runs.size(); ++i) runs[i].name += fmt::format(" ({})", i + 1);  // one run twice
}

std::vector<ComparedRow> compared_numbers(const std::vector<RunRecord>& runs) {
  std::vector<RunSummary> summaries;
  for (const RunRecord& run : runs) summaries.push_back(summary_of(run));
  std::vector<ComparedRow> rows;
  const auto add = [&](const char* caption,
                       const std::function<std::string(const RunRecord&, const RunSummary&)>& print) {
    ComparedRow row{caption, {}};
    for (size_t i = 0; i < runs.size(); ++i) row.values.push_back(print(runs[i], summaries[i]));
    const bool is_empty =
        std::ranges::all_of(row.values, [](const std::string& text) { return text.empty() || text == "-"; });
    if (!is_empty) rows.push_back(std::move(row));
  };
  const auto share = [](double value) { return value > 0 ? fmt::format("{:.2f} %", 100 * value) : "-"; };
  using Run = const RunRecord&;
  using Sum = const RunSummary&;
  add("state", [](Run run, Sum) { return state_of(run); });
  add("steps", [](Run, Sum sum) { return print_count(sum.last_step); });
  add("loss", [](Run, Sum sum) { return print_value(sum.loss); });
  add("best loss", [](Run, Sum sum) { return print_value(sum.best_loss); });
  add("validation loss", [](Run, Sum sum) { return print_value(sum.validation_loss); });
  add("validation accuracy", [&](Run, Sum sum) { return share(sum.validation_accuracy); });
  add("test loss", [](Run run, Sum) { return print_value(run.test_loss); });
  add("test accuracy", [&](Run run, Sum) { return share(run.test_accuracy); });
  add("losses not finite", [](Run, Sum sum) { return sum.not_finite > 0 ? print_count(sum.not_finite) : "-"; });
  add("a step", [](Run, Sum sum) { return print_span(sum.step_seconds); });
  add("predicted step", [](Run run, Sum) { return run.predicted ? print_span(run.predicted->step) : "-"; });
  add("rows a second", [](Run, Sum sum) { return print_value(sum.rate); });
  add("memory", [](Run, Sum sum) { return print_size(sum.memory); });
  add("time in steps", [](Run, Sum sum) { return print_duration(sum.total_seconds); });
  return rows;
}

std::vector<ComparedRow> compared_settings(const std::vector<RunRecord>& runs) {
  std::vector<std::string> keys;
  for (const RunRecord& run : runs) {
    for (const auto& [key, value] : run.settings) {
      const bool is_known = std::ranges::find(keys, key) != keys.end();
      if (!is_known && !key.starts_with("files.") && !key.starts_with("console.")) keys.push_back(key);
    }
  }
  std::vector<ComparedRow> rows;
  for (const std::string& key : keys) {
    ComparedRow row{key, {}};
    for (const RunRecord& run : runs) row.values.push_back(value_of(run, key));
    std::set<std::string> different;  // runs without a configuration do not count
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].settings.empty()) different.insert(row.values[i]);
    }
    if (different.size() > 1) rows.push_back(std::move(row));
  }
  return rows;
}

std::string print_comparison(const std::vector<RunRecord>& runs) {
  ComparedRow head{"", {}};
  for (const RunRecord& run : runs) head.values.push_back(run.name);
  const std::vector<ComparedRow> numbers = compared_numbers(runs), settings = compared_settings(runs);
  std::vector<size_t> widths(runs.size(), kMinWidth);
  size_t first = 20;
  for (const auto* rows : {&numbers, &settings}) {
    for (const ComparedRow& row : *rows) {
      first = std::max(first, std::min(row.caption.size(), size_t{32}));
      for (size_t i = 0; i < runs.size(); ++i)
        widths[i] = std::max(widths[i], std::min(row.values[i].size(), kMaxWidth));
    }
  }
  for (size_t i = 0; i < runs.size(); ++i) widths[i] = std::max(widths[i], std::min(runs[i].name.size(), kMaxWidth));
  std::string text = print_table({head}, widths, first) + print_table(numbers, widths, first);
  if (!settings.empty()) text += "\nconfiguration\n" + print_table(settings, widths, first);
  return text;
}

std::string comparison_page(const std::vector<RunRecord>& runs) {
  std::vector<const RunRecord*> all;
  std::string names;
  for (const RunRecord& run : runs) {
    all.push_back(&run);
    names += (names.empty() ? "" : ", ") + run.name;
  }
  std::string body = fmt::format("<h1>{} runs</h1>\n<p class=\"soft\">{}</p>\n", runs.size(), escaped_html(names));
  body += section("Numbers", html_table(compared_numbers(runs), runs));
  const std::vector<ComparedRow> settings = compared_settings(runs);
  if (!settings.empty()) body += section("What differs in their configurations", html_table(settings, runs));
  const std::string loss = chart_of(all, Quantity::loss, kChartWidth, 280);
  if (!loss.empty()) body += section("Loss", loss);
  std::string charts;
  for (const Quantity quantity : {Quantity::validation_loss, Quantity::validation_accuracy, Quantity::learning_rate,
                                  Quantity::step_seconds, Quantity::rate, Quantity::memory}) {
    charts += chart_section(all, quantity);
  }
  if (!charts.empty()) body += "<div class=\"grid\">" + charts + "</div>";
  return html_document(names, body + kChartScript);
}

}  // namespace partita
