#include "cli/job_flags.h"

#include <algorithm>
#include <iostream>

#include "job/toml.h"

namespace partita {
namespace {

constexpr const char* kTitles[] = {"Job",        "Data",  "Training", "Optimizer", "Learning rate",
                                   "Evaluation", "Ranks", "Plan",     "Files",     "Console"};

/// Options whose value is the model's when nobody says it.
bool is_of_recipe(const JobOption& option) {
  return option.section == OptionSection::training || option.section == OptionSection::optimizer ||
         option.section == OptionSection::schedule;
}

/// " [default: fast]"
std::string default_note(const JobOption& option) {
  if (is_of_recipe(option)) return "";
  const std::vector<std::string> texts = option.get(JobConfig());
  const bool says_nothing =
      texts.empty() || option.form == JobOption::Form::list || texts[0] == "0" || texts[0] == "false";
  return says_nothing ? "" : fmt::format(" [default: {}]", texts[0]);
}

void add_option(CLI::App& command, const JobOption& option, std::vector<Assignment>& given) {
  const std::string flag = "--" + option.flag, help = option.help + default_note(option);
  const std::string title = kTitles[static_cast<size_t>(option.section)];
  CLI::Option* added = nullptr;
  if (option.form == JobOption::Form::boolean) {
    // No value after "=": what follows a switch is another word.
    added = command.add_flag_function(
        fmt::format("{},!--no-{}", flag, option.flag),
        [&given, &option, flag](int64_t count) {
          given.push_back({&option, flag, {count > 0 ? "true" : "false"}});
        },
        help);
    added->disable_flag_override();
  } else if (option.form == JobOption::Form::list) {
    added = command.add_option_function<std::vector<std::string>>(
        flag,
        [&given, &option, flag](const std::vector<std::string>& texts) {
          given.push_back({&option, flag, texts});
        },
        help);
    added->expected(1)->take_all()->type_name(option.value);
  } else {
    added = command.add_option_function<std::string>(
        flag,
        [&given, &option, flag](const std::string& text) {
          given.push_back({&option, flag, {text}});
        },
        help);
    added->type_name(option.value);
  }
  added->group(title);
}

bool names_model(const Assignment& assignment) { return assignment.option->key() == "model"; }

/// Of the file, and then of the flags.
std::vector<Assignment> assignments_of(const JobFlags& flags) {
  std::vector<Assignment> all = flags.config_file.empty() ? std::vector<Assignment>() : read_config(flags.config_file);
  all.insert(all.end(), flags.given.begin(), flags.given.end());
  return all;
}

}  // namespace

void add_job_flags(CLI::App& command, JobFlags& flags, const std::function<bool(const JobOption&)>& takes) {
  flags.command = command.get_name();
  command.add_option("MODEL", flags.model,
                     fmt::format("{} (quickstart: on 1 rank or a multiple of 8), with sizes as in "
                                 "mlp:layers=2,hidden=4096",
                                 fmt::join(model_names(), ", ")));
  command.add_option("--config", flags.config_file, "Read the configuration from this TOML file; flags override it")
      ->type_name("FILE")
      ->group(kTitles[0]);
  command.add_flag("--print-config", flags.print_config, "Print the whole configuration as TOML and end")
      ->group(kTitles[0]);
  add_option_flags(command, flags, takes);
}

void add_option_flags(CLI::App& command, JobFlags& flags, const std::function<bool(const JobOption&)>& takes) {
  for (const JobOption& option : job_options()) {
    if (!option.flag.empty() && takes(option)) add_option(command, option, flags.given);
  }
}

bool decides_program(const JobOption& option) {
  return (option.effect == Effect::program || option.effect == Effect::placement || option.key() == "data.source") &&
         option.section != OptionSection::schedule;
}

std::vector<Assignment> assignments_without_model(const JobFlags& flags) {
  std::vector<Assignment> all = assignments_of(flags);
  std::erase_if(all, names_model);
  return all;
}

JobConfig configuration(const JobFlags& flags) {
  std::vector<Assignment> all = assignments_of(flags);
  std::string model = flags.model;
  // The model comes first: it brings the recipe that the rest changes.
  const auto named = std::find_if(all.begin(), all.end(), names_model);
  if (named != all.end()) {
    JobConfig only_model;
    assign(only_model, {*named});
    if (model.empty()) model = only_model.model;
    all.erase(named);
  }
  if (model.empty()) {
    throw InvalidArgument(
        fmt::format("[{}] no model, got nothing, expected MODEL or a configuration file with model = "
                    "\"...\": one of [{}]",
                    flags.command, fmt::join(model_names(), ", ")));
  }
  return configured(model, all);
}

bool is_given(const JobFlags& flags, std::string_view key) {
  return std::any_of(flags.given.begin(), flags.given.end(),
                     [&](const Assignment& assignment) { return assignment.option->key() == key; });
}

bool printed_config(const JobFlags& flags, const JobConfig& config) {
  if (flags.print_config) std::cout << print(config);
  return flags.print_config;
}

std::string flag_by_synonym(std::string_view flag) {
  for (const JobOption& option : job_options()) {
    if (std::find(option.synonyms.begin(), option.synonyms.end(), flag) != option.synonyms.end()) {
      return "--" + option.flag;
    }
  }
  return "";
}

}  // namespace partita
