#include "planner/explain/page.h"

#include <algorithm>

#include "base/page/html.h"
#include "planner/explain/charts.h"
#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr size_t kShownGroups = 16;

std::string print_share(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0);
}

class Page {
 public:
  explicit Page(const PageContents& contents) : contents_(contents), plan_(contents.plan), price_(plan_.price) {}

  std::string html() const {
    const std::string title = fmt::format("{} on {} ranks of {}", plan_.model, plan_.ranks, plan_.cluster);
    return html_document(
        title,
        fmt::format("<h1>{}</h1>\n<p class=\"soft\">{} rows a step, priced with the software {}</p>\n<p>{}</p>\n{}",
                    escaped_html(title), plan_.batch, escaped_html(print_software(plan_)),
                    chips(print(plan_.configuration), ','), figures()) +
            section("Where the step goes", breakdown()) + section("Layers and how they are cut", layers()) +
            section("Timeline", timeline()) + section("Memory", memory()) + section("Links and collectives", links()) +
            (contents_.others.empty() ? "" : section("Other plans", others())) +
            (contents_.ops.empty() ? "" : section("What other cuts of the main ops would cost", ops())) +
            section("The plan", fmt::format("<details><summary>Its text, as <code>partita train --plan</code> reads it"
                                            "</summary><pre>{}</pre></details>",
                                            escaped_html(contents_.text))));
  }

 private:
  std::string figures() const {
    std::string text = "<div class=\"figures\">";
    const auto add = [&](const std::string& value, std::string_view what) {
      text += fmt::format("<div><b>{}</b><span>{}</span></div>", value, what);
    };
    add(print_seconds(price_.step_seconds), "a step");
    add(fmt::format("{:.0f}", static_cast<double>(plan_.batch) / price_.step_seconds), "rows a second");
    add(fmt::format("{:.4g} Tflop/s", price_.tflops_per_device), "of each device");
    add(print_memory(price_.peak_memory()), fmt::format("of {} of the fullest device", print_memory(contents_.memory)));
    if (plan_.lower_bound_seconds > 0) {
      add(print_seconds(plan_.lower_bound_seconds), "no plan of the search takes less");
    }
    return text + "</div>\n";
  }

  /// Returns the parts of the step: name, CSS class and seconds. Parts that take no time are left out, except
  /// computation and update.
  std::vector<std::tuple<std::string, std::string, double>> parts() const {
    const Breakdown& all = price_.breakdown;
    std::vector<std::tuple<std::string, std::string, double>> result{{"compute", "forward", all.compute}};
    if (all.waiting > 0) result.emplace_back("waiting for the host", "weight", all.waiting);
    for (const auto& [kind, seconds] : all.communication) {
      if (seconds > 0) result.emplace_back(name_of(kind), "comm", seconds);
    }
    if (all.bubble > 0) result.emplace_back("bubble", "bubble", all.bubble);
    result.emplace_back("update", "update", all.update);
    return result;
  }

  std::string breakdown() const {
    std::string bar = "<div class=\"bar\">";
    std::string rows;
    for (const auto& [name, kind, seconds] : parts()) {
      const double percent = 100 * seconds / price_.step_seconds;
      bar += fmt::format("<i class=\"c-{}\" style=\"width:{:.2f}%\" title=\"{} {}\"></i>", kind, percent, name,
                         print_seconds(seconds));
      rows += fmt::format("<tr><td class=\"t legend\"><i class=\"c-{}\"></i>{}</td><td>{}</td><td>{:.1f} %</td></tr>",
                          kind, name, print_seconds(seconds), percent);
    }
    return bar + "</div><table style=\"width:auto;margin-top:10px\">" + rows +
           "</table><p class=\"soft\">For the group of ranks with the most work; only exposed communication is "
           "counted.</p>";
  }

  std::string layers() const {
    double longest = 0;
    for (const LayerRow& row : contents_.layers) {
      longest = std::max(longest, static_cast<double>(row.copies) * row.seconds());
    }
    std::string text =
        "<div class=\"scroll\"><table><tr><th class=\"t\">layers</th><th></th><th class=\"t\">all of them</th>"
        "<th>forward</th><th>backward</th><th>communicate</th><th>states</th><th>kept</th><th "
        "class=\"t\">cut</th></tr>";
    for (const LayerRow& row : contents_.layers) {
      const auto bar = [&](std::string_view kind, double seconds) {
        return fmt::format("<i class=\"c-{}\" style=\"width:{:.2f}%\"></i>", kind,
                           longest > 0 ? 100 * static_cast<double>(row.copies) * seconds / longest : 0);
      };
      text += fmt::format(
          "<tr><td class=\"t mono\">{}</td><td class=\"soft\">{}</td><td><div class=\"bar small\">{}{}{}</div></td>"
          "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"t w\">{}</td></tr>",
          escaped_html(row.title()), row.copies > 1 ? fmt::format("&#215; {}", row.copies) : "",
          bar("forward", row.forward), bar("backward", row.backward), bar("comm", row.communicates()),
          print_seconds(row.forward), print_seconds(row.backward), print_seconds(row.communicates()),
          print_memory(row.states), print_memory(row.kept), chips(row.strategy, ';'));
    }
    text +=
        "</table></div><p class=\"legend\"><span><i class=\"c-forward\"></i>forward</span><span>"
        "<i class=\"c-backward\"></i>backward</span><span><i class=\"c-comm\"></i>communication</span></p>";
    text += fmt::format(
        "<p class=\"soft\">Of one layer on one rank, in one micro-batch of {} row{}; {} micro-batches in "
        "a step.</p>",
        plan_.configuration.micro_batch, plan_.configuration.micro_batch == 1 ? "" : "s",
        micro_batches(plan_.configuration, plan_.batch));
    if (contents_.cuts.empty()) return text;
    text += fmt::format("<details><summary>The cuts of all nodes, {} lines</summary><div class=\"scroll\"><table>",
                        contents_.cuts.size());
    for (const auto& [names, cut] : contents_.cuts) {
      text += fmt::format("<tr><td class=\"t mono\">{}</td><td class=\"t mono w\">{}</td></tr>", escaped_html(names),
                          escaped_html(cut));
    }
    return text + "</table></div></details>";
  }

  std::string timeline() const {
    const int64_t all = micro_batches(plan_.configuration, plan_.batch);
    std::string text = timeline_chart(contents_.step, plan_.configuration.interleave > 1);
    text +=
        "<p class=\"legend\"><span><i class=\"c-forward\"></i>forward</span><span><i class=\"c-backward\"></i>"
        "backward</span>";
    if (plan_.configuration.order == Order::zero_bubble) {
      text += "<span><i class=\"c-weight\"></i>gradients of weights</span>";
    }
    text += fmt::format(
        "<span><i class=\"c-comm\"></i>overlapped communication</span><span><i "
        "class=\"c-update\"></i>update</span><span>order {}, {} micro-batch{}</span></p>",
        name_of(plan_.configuration.order), all, all == 1 ? "" : "es");
    if (contents_.step.repeated > 0) {
      text += fmt::format(
          "<p class=\"soft\">Without {} in which the order repeats itself; the last micro-batch is drawn layer by "
          "layer.</p>",
          print_seconds(contents_.step.repeated));
    }
    if (plan_.stages.size() > 1) {
      text += "<details><summary>Layers of the stages</summary><table>";
      for (size_t stage = 0; stage < plan_.stages.size(); ++stage) {
        text += fmt::format(
            "<tr><td class=\"t\">stage {}</td><td class=\"t\">group {}</td><td class=\"t mono w\">{}</td></tr>", stage,
            static_cast<int64_t>(stage) % plan_.configuration.pipeline,
            escaped_html(fmt::format("{}", fmt::join(plan_.stages[stage], " "))));
      }
      text += "</table></details>";
    }
    for (const auto& [policy, layers] : plan_.recomputed) {
      if (!plan_.configuration.recompute.is_counted()) break;
      text += fmt::format("<p class=\"soft\">Recomputed, {}: <span class=\"mono\">{}</span></p>", name_of(policy),
                          escaped_html(fmt::format("{}", fmt::join(layers, " "))));
    }
    return text;
  }

  std::string memory() const {
    std::string text = memory_chart(contents_.step, contents_.memory);
    const bool is_long = price_.memory.size() > kShownGroups;
    if (is_long) text += fmt::format("<details><summary>All {} groups</summary>", price_.memory.size());
    text +=
        "<div class=\"scroll\"><table><tr><th class=\"t\">group</th><th>parameters</th><th>gradients</th><th>optimizer"
        "</th><th>activations</th><th>workspace</th><th>all</th><th>of the device</th></tr>";
    for (size_t group = 0; group < price_.memory.size(); ++group) {
      const StageMemory& one = price_.memory[group];
      text +=
          fmt::format("<tr{}><td class=\"t\">{}</td>", one.total() > contents_.memory ? " class=\"bad\"" : "", group);
      for (double bytes : {one.parameters, one.gradients, one.optimizer, one.activations, one.workspace, one.total()}) {
        text += fmt::format("<td>{}</td>", print_memory(bytes));
      }
      text += fmt::format("<td>{}</td></tr>", print_share(one.total(), contents_.memory));
    }
    return text + "</table></div>" + (is_long ? "</details>" : "");
  }

  std::string links() const {
    std::string text =
        "<div class=\"side\"><table><tr><th class=\"t\">level</th><th>parts</th><th>bandwidth of a link"
        "</th><th>links of a part</th><th>latency</th></tr>";
    for (const LinkLevel& level : contents_.cluster.levels) {
      text += fmt::format("<tr><td class=\"t\">{}</td><td>{}</td><td>{:.4g} GB/s</td><td>{}</td><td>{}</td></tr>",
                          escaped_html(level.name), level.size, level.bandwidth / 1e9, level.links,
                          level.latency.empty() ? "" : print_seconds(level.latency.front()));
    }
    text +=
        "</table><table><tr><th class=\"t\">ranks that communicate"
        "</th><th>of a group</th><th class=\"t\">over</th><th>bandwidth of a link</th></tr>";
    for (const PageGroup& group : contents_.groups) {
      text += fmt::format("<tr><td class=\"t\">{}</td><td>{}</td><td class=\"t\">{}</td><td>{:.4g} GB/s</td></tr>",
                          escaped_html(group.name), group.ranks, escaped_html(group.level), group.bandwidth / 1e9);
    }
    text +=
        "</table><table><tr><th class=\"t\">collective</th><th>of a step"
        "</th><th>share</th></tr>";
    for (const auto& [kind, seconds] : price_.breakdown.communication) {
      text += fmt::format("<tr><td class=\"t\">{}</td><td>{}</td><td>{}</td></tr>", name_of(kind),
                          print_seconds(seconds), print_share(seconds, price_.step_seconds));
    }
    return text + "</table></div>";
  }

  std::string others() const {
    double longest = price_.step_seconds;
    for (const PageOther& other : contents_.others) longest = std::max(longest, other.seconds);
    std::string text =
        "<div class=\"scroll\"><table><tr><th class=\"t\"></th><th class=\"t\"></th><th>step</th><th>against "
        "this</th><th>memory</th><th class=\"t\">configuration</th></tr>";
    const auto line = [&](std::string_view name, const PageOther& other, bool chosen) {
      text += fmt::format(
          "<tr{}><td class=\"t\">{}</td><td><div class=\"bar small\"><i class=\"c-{}\" "
          "style=\"width:{:.1f}%\"></i></div></td>"
          "<td>{}</td><td>{}</td><td{}>{}</td><td class=\"t w\">{}</td></tr>",
          chosen ? " class=\"chosen\"" : "", escaped_html(name), chosen ? "backward" : "bubble",
          100 * other.seconds / longest, other.fits ? print_seconds(other.seconds) : "does not fit",
          chosen || !other.fits ? "" : fmt::format("{:+.1f} %", 100 * (other.seconds / price_.step_seconds - 1)),
          other.fits ? "" : " class=\"bad\"", print_memory(other.memory), chips(print(other.configuration), ','));
    };
    line("this plan", {"", plan_.configuration, price_.step_seconds, price_.peak_memory(), true}, true);
    for (const PageOther& other : contents_.others) line(other.name, other, false);
    return text + "</table></div>";
  }

  std::string ops() const {
    std::string text;
    for (const PageOp& op : contents_.ops) {
      const auto chosen =
          std::ranges::find_if(op.alternatives, [](const CutAlternative& one) { return one.is_chosen; });
      if (chosen == op.alternatives.end()) continue;
      text += fmt::format(
          "<p><b class=\"mono\">{}</b></p><div class=\"scroll\"><table><tr><th class=\"t\">cut</th><th>"
          "difference</th><th>of a micro-batch</th><th class=\"t\">why</th></tr>",
          escaped_html(op.name));
      for (const CutAlternative& one : op.alternatives) {
        const double more = one.seconds - chosen->seconds;
        text +=
            fmt::format("<tr{}><td class=\"t mono\">{}</td><td>{}</td><td>{}</td><td class=\"t w\">{}</td></tr>",
                        one.is_chosen ? " class=\"chosen\"" : "", one.cut.empty() ? "not cut" : escaped_html(one.cut),
                        one.is_chosen ? "" : (more < 0 ? "-" : "+") + print_seconds(std::abs(more)),
                        one.is_chosen ? "" : fmt::format("{:+.2f} %", 100 * more / std::max(chosen->seconds, 1e-30)),
                        one.is_chosen ? "this plan" : escaped_html(one.why));
      }
      text += "</table></div>";
    }
    return text;
  }

  const PageContents& contents_;
  const PricedPlan& plan_;
  const Price& price_;
};

}  // namespace

std::string html_page(const PageContents& contents) { return Page(contents).html(); }

}  // namespace partita
