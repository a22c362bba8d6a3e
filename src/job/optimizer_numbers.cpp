#include "job/optimizer_numbers.h"

#include <algorithm>

#include "ir/optimizers/registry.h"
#include "job/option_text.h"

namespace partita {

void require_one(std::string_view where, const std::vector<std::string>& texts) {
  if (texts.size() == 1) return;
  throw InvalidArgument("[{}] wrong number of values, got {}, expected 1", where, texts.size());
}

namespace {

/// Returns the help of an option of optimizers, with those that have it and their defaults: "Share of .., for lars,
/// momentum (0.9); muon (0.95)".
std::string help_of(const OptimizerOption& option) {
  std::vector<std::pair<std::string, std::string>> groups;  // default, names
  for (const OptimizerDef& optimizer : all_optimizers()) {
    const OptimizerOption* own = optimizer.find(option.name);
    if (own == nullptr) continue;
    const std::string standard = option.is_switch ? print_option(own->standard > 0) : print_option(own->standard);
    const auto same = std::ranges::find_if(groups, [&](const auto& one) { return one.first == standard; });
    if (same == groups.end()) {
      groups.emplace_back(standard, optimizer.name);
    } else {
      same->second += ", " + optimizer.name;
    }
  }
  std::string text = option.help;
  for (size_t i = 0; i < groups.size(); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? ", for " : "; ", groups[i].second, groups[i].first);
  }
  return text;
}

/// Parses a number or a switch of an optimizer.
double read_number(const OptimizerOption& option, std::string_view where, const std::string& text) {
  const Limits limits{option.least, option.most};
  if (option.is_switch) {
    bool is_on = false;
    read_option(where, text, limits, is_on);
    return is_on ? 1 : 0;
  }
  if (option.is_whole) {
    int64_t whole = 0;
    read_option(where, text, limits, whole);
    return static_cast<double>(whole);
  }
  double number = 0;
  read_option(where, text, limits, number);
  return number;
}

/// Returns the option of a job for an option of optimizers. A configuration has a text of it for every optimizer.
JobOption option_of(const OptimizerOption& number) {
  JobOption option;
  option.section = OptionSection::optimizer;
  option.name = option.flag = number.name;
  std::ranges::replace(option.flag, '_', '-');
  option.help = help_of(number);
  option.value = number.is_switch ? "" : number.is_whole ? "COUNT" : "NUMBER";
  option.synonyms = number.synonyms;
  option.form = number.is_switch ? JobOption::Form::boolean : JobOption::Form::number;
  option.get = [number](const JobConfig& config) -> std::vector<std::string> {
    const double value = optimizer_number(config.optimizer, number.name);
    return {number.is_switch ? print_option(value > 0) : print_option(value)};
  };
  option.set = [number](JobConfig& config, std::string_view where, const std::vector<std::string>& texts) {
    require_one(where, texts);
    config.optimizer.give(number.name, read_number(number, where, texts[0]));
  };
  return option;
}

/// Sets another optimizer in a configuration. It takes over the options that were given for the former one, such as
/// those of a model's recipe, but not those for which the two have different defaults.
void set_optimizer(OptimizerOptions& options, const OptimizerDef& optimizer) {
  const OptimizerDef& former = find_optimizer("optimizer.kind", options.kind.name);
  for (const OptimizerOption& option : optimizer.options) {
    const OptimizerOption* other = former.find(option.name);
    if (other != nullptr && other->standard != option.standard) options.give(option.name, std::nullopt);
  }
  options.kind = OptimizerKind(std::string_view(optimizer.name));
}

}  // namespace

JobOption optimizer_option() {
  JobOption option;
  option.section = OptionSection::optimizer;
  option.name = "kind";
  option.flag = "optimizer";
  option.value = fmt::format("{}", fmt::join(optimizer_names(), "|"));
  option.help = "Method that updates the parameters";
  option.get = [](const JobConfig& config) { return std::vector{std::string(config.optimizer.kind.name)}; };
  option.set = [](JobConfig& config, std::string_view where, const std::vector<std::string>& texts) {
    require_one(where, texts);
    set_optimizer(config.optimizer, find_optimizer(where, texts[0]));
  };
  return option;
}

std::vector<JobOption> optimizer_number_options() {
  std::vector<JobOption> options;
  for (const OptimizerOption& number : all_optimizer_options()) options.push_back(option_of(number));
  return options;
}

}  // namespace partita
