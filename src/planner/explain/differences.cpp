#include "planner/explain/differences.h"

#include <algorithm>

#include "compiler/plan/network_names.h"
#include "compiler/search/named_cuts.h"

namespace partita {
namespace {

constexpr size_t kMaxDifferentCuts = 40;

class Differences {
 public:
  Differences(const PlanFile& first, const PlanFile& second) : first_(first), second_(second) {}

  std::string run(const Graph* forward, const OpSet& ops) {
    say("model", first_.model, second_.model);
    say("batch", fmt::format("{}", first_.batch), fmt::format("{}", second_.batch));
    say("dtype", std::string(name_of(first_.dtype)), std::string(name_of(second_.dtype)));
    say("cluster", first_.cluster, second_.cluster);
    say("ranks", fmt::format("{}", first_.ranks), fmt::format("{}", second_.ranks));
    say_configurations();
    say("parallel", std::string(name_of(first_.parallel)), std::string(name_of(second_.parallel)));
    for (size_t stage = 0; stage < std::max(first_.stages.size(), second_.stages.size()); ++stage) {
      say(fmt::format("stage {}", stage), layers(first_, stage), layers(second_, stage));
    }
    for (const Recompute policy : {Recompute::selective, Recompute::full}) {
      say(fmt::format("{} in", name_of(policy)), recomputed(first_, policy), recomputed(second_, policy));
    }
    say("mesh", mesh(first_), mesh(second_));
    if (forward != nullptr && first_.cuts && second_.cuts)
      say_cuts(*forward, ops);
    else if (forward == nullptr)
      text_ += "cuts           of different networks are not compared\n";
    return text_.empty() ? "the plans are the same\n" : text_;
  }

 private:
  void say(const std::string& what, const std::string& before, const std::string& now) {
    if (before == now) return;
    text_ += fmt::format("{:<14} {} -> {}\n", what, before.empty() ? "none" : before, now.empty() ? "none" : now);
  }

  void say_configurations() {
    const auto items = [](const Configuration& configuration) {
      std::map<std::string, std::string> values;
      std::string_view text;
      const std::string whole = print(configuration);
      for (text = whole; !text.empty();) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        values.emplace(item.substr(0, item.find('=')), item.substr(item.find('=') + 1));
      }
      return values;
    };
    const auto before = items(first_.configuration), now = items(second_.configuration);
    auto keys = before;
    keys.insert(now.begin(), now.end());
    const auto value = [](const auto& values, const std::string& key) {
      const auto found = values.find(key);
      return found == values.end() ? std::string("default") : found->second;
    };
    for (const auto& [key, unused] : keys) say(key, value(before, key), value(now, key));
  }

  static std::string layers(const PlanFile& plan, size_t stage) {
    return stage < plan.stages.size() ? fmt::format("{}", fmt::join(plan.stages[stage], " ")) : "";
  }
  static std::string recomputed(const PlanFile& plan, Recompute policy) {
    const auto found = plan.recomputed.find(policy);
    return found == plan.recomputed.end() ? "" : fmt::format("{}", fmt::join(found->second, " "));
  }
  static std::string mesh(const PlanFile& plan) { return plan.cuts ? print(plan.cuts->mesh) : ""; }

  void say_cuts(const Graph& forward, const OpSet& ops) {
    const std::vector<std::string> names = network_names(forward);
    const std::vector<std::string> before = cuts_of_nodes(*first_.cuts, forward, ops),
                                   now = cuts_of_nodes(*second_.cuts, forward, ops);
    std::vector<NamedText> lines;
    for (size_t n = 0; n < names.size(); ++n) {
      const auto shown = [](const std::string& cut) { return cut.empty() ? std::string("not cut") : cut; };
      if (before[n] != now[n]) lines.push_back({names[n], fmt::format("{} -> {}", shown(before[n]), shown(now[n]))});
    }
    const size_t nodes = lines.size();
    lines = collapsed(lines);
    if (nodes > 0) text_ += fmt::format("cuts           {} of {} nodes differ\n", nodes, names.size());
    for (size_t i = 0; i < std::min(lines.size(), kMaxDifferentCuts); ++i) {
      text_ += fmt::format("  {}  {}\n", lines[i].names, lines[i].text);
    }
    if (lines.size() > kMaxDifferentCuts) text_ += fmt::format("  and {} more\n", lines.size() - kMaxDifferentCuts);
  }

  const PlanFile& first_;
  const PlanFile& second_;
  std::string text_;
};

}  // namespace

std::vector<std::string> cuts_of_nodes(const NamedCuts& cuts, const Graph& forward, const OpSet& ops) {
  const Rules rules(forward, ops);
  const Plan plan = plan_of(cuts, forward, ops, /*any_purpose=*/true);
  std::vector<std::string> texts;
  for (size_t n = 0; n < forward.nodes.size(); ++n) texts.push_back(print(plan.cuts[n], rules[n], plan.mesh));
  return texts;
}

std::string print_differences(const PlanFile& first, const PlanFile& second, const Graph* forward, const OpSet& ops) {
  return Differences(first, second).run(forward, ops);
}

}  // namespace partita
