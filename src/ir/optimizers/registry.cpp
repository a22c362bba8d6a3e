#include "ir/optimizers/registry.h"

#include <algorithm>

#include "base/names.h"

namespace partita {

std::vector<OptimizerDef> listed_optimizers();  // generated from the list of this folder

namespace {

std::vector<OptimizerDef> sorted_optimizers() {
  std::vector<OptimizerDef> all = listed_optimizers();
  std::ranges::sort(all, [](const OptimizerDef& a, const OptimizerDef& b) { return a.name < b.name; });
  return all;
}

/// Returns every option once. Throws InternalError if two optimizers define one name differently.
std::vector<OptimizerOption> distinct_options() {
  std::vector<OptimizerOption> options;
  for (const OptimizerDef& optimizer : all_optimizers()) {
    for (const OptimizerOption& option : optimizer.options) {
      const auto same =
          std::ranges::find_if(options, [&](const OptimizerOption& other) { return other.name == option.name; });
      if (same == options.end()) {
        options.push_back(option);
        continue;
      }
      PARTITA_CHECK(same->least == option.least && same->most == option.most && same->help == option.help &&
                        same->is_switch == option.is_switch && same->is_whole == option.is_whole &&
                        same->value_elsewhere() == option.value_elsewhere(),
                    "option {} of {} differs from that of other optimizers", option.name, optimizer.name);
    }
  }
  return options;
}

}  // namespace

/// Returns the ops of all optimizers. `all_ops` calls it.
std::vector<OpDef> optimizer_ops() {
  std::vector<OpDef> ops;
  for (OptimizerDef& optimizer : listed_optimizers()) {
    for (OpDef& op : optimizer.ops) ops.push_back(std::move(op));
  }
  return ops;
}

const OptimizerOption* OptimizerDef::find(std::string_view option) const {
  const auto found = std::ranges::find_if(options, [&](const OptimizerOption& one) { return one.name == option; });
  return found == options.end() ? nullptr : &*found;
}

const std::vector<OptimizerDef>& all_optimizers() {
  static const std::vector<OptimizerDef> optimizers = sorted_optimizers();
  return optimizers;
}

const OptimizerDef& find_optimizer(std::string_view where, std::string_view name) {
  return all_optimizers()[position_of_name(where, name, optimizer_names())];
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerDef& optimizer : all_optimizers()) names.push_back(optimizer.name);
  return names;
}

std::vector<std::string> optimizers_with(std::string_view option) {
  std::vector<std::string> names;
  for (const OptimizerDef& optimizer : all_optimizers()) {
    if (optimizer.find(option) != nullptr) names.push_back(optimizer.name);
  }
  return names;
}

const std::vector<OptimizerOption>& all_optimizer_options() {
  static const std::vector<OptimizerOption> options = distinct_options();
  return options;
}

const std::vector<std::string>& documented_state_prefixes() {
  static const std::vector<std::string> prefixes = [] {
    std::vector<std::string> all{"adam_m",         "adam_v",         "exp_avg", "exp_avg_sq",
                                 "exp_avg_sq_col", "exp_avg_sq_row", "linear",  "prev",
                                 "stat",           "step_size",      "vhat"};
    for (const OptimizerDef& optimizer : all_optimizers()) {
      for (const auto& [state, prefix] : optimizer.python.documented) all.push_back(prefix);
    }
    return all;
  }();
  return prefixes;
}

}  // namespace partita
