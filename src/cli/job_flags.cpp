#include "cli/job_flags.h"

#include <algorithm>
#include <iostream>

#include "base/is_folder.h"
#include "cli/options.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "job/toml.h"
#include "planner/automatic_plan.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/place.h"
#include "runtime/launch/refusal.h"
#include "training/configuration.h"

namespace partita {
namespace {

constexpr const char* kTitles[] = {"Job",        "Data",  "Training", "Optimizer", "Learning rate",
                                   "Evaluation", "Ranks", "Plan",     "Files",     "Console"};

/// Whether the option's default is the recipe of the model.
bool is_of_recipe(const JobOption& option) {
  return option.section == OptionSection::training || option.section == OptionSection::optimizer ||
         option.section == OptionSection::schedule;
}

/// Returns " [default: fast]" for an option with the default "fast", or "" if the option is a list or its default is
/// the recipe's, unset, 0 or false.
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
    // A switch takes no value after "=". The word after it is not its value.
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
    // One value for each flag: the word after it may be the model.
    added->expected(1)->take_all()->allow_extra_args(false)->type_name(option.value);
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

/// Checks that the model of the training has the network of the plan's model. Throws InvalidArgument, with the nodes
/// and sizes that differ, otherwise. A missing model and models that cannot be built pass: the fingerprint of the
/// network is compared later.
void require_planned_model(const JobConfig& config, const PlanFile& plan) {
  if (plan.model.empty() || config.model.empty() || plan.model == config.model) return;
  const auto graph_of_model = [&](const std::string& text) {
    const ZooModel model = make_model(text);
    const BuildOptions options{.batch = plan.batch, .columns = model.columns(), .statistics_groups = plan.batch};
    return build_graph(model.network(config.training.loss), all_ops(), options);
  };
  std::string difference;
  try {
    difference = network_difference(graph_of_model(config.model), graph_of_model(plan.model));
  } catch (const Error&) {
    return;  // the fingerprint of the network is compared later
  }
  if (difference.empty()) return;
  throw InvalidArgument("[--plan] {} is for another network, got {}, expected {}: {}", plan.path, config.model,
                        plan.model, difference);
}

bool assigns(const std::vector<Assignment>& all, std::string_view key) {
  return std::ranges::any_of(all, [&](const Assignment& one) { return one.option->key() == key; });
}

bool names_model(const Assignment& assignment) { return assignment.option->key() == "model"; }

/// Returns the assignments of the file of --config, if it is given, then those of the flags. Throws MissingFile if the
/// file cannot be read, InvalidFile if it is too large or no configuration.
std::vector<Assignment> assignments_of(const JobFlags& flags) {
  std::vector<Assignment> all = flags.config_file.empty() ? std::vector<Assignment>() : read_config(flags.config_file);
  all.insert(all.end(), flags.given.begin(), flags.given.end());
  return all;
}

/// Returns the default configuration with the values that `all` gives to `key`, the last of which stands. Throws
/// InvalidArgument for a bad value.
JobConfig config_with(const std::vector<Assignment>& all, std::string_view key) {
  JobConfig config;
  for (const Assignment& assignment : all) {
    if (assignment.option->key() == key) assign(config, {assignment});
  }
  return config;
}

/// Returns the options that decide what a network computes (model, loss, ignored label) from the metadata of the file
/// of weights or the checkpoint at `path`; none if the metadata lack them. Throws MissingFile or InvalidFile if it is
/// missing or damaged.
std::vector<Assignment> network_in(const std::string& path) {
  const Metadata metadata = is_folder(path) ? SavedStates(path).metadata() : read_weights_metadata(path);
  const auto saved = metadata.find(kConfigKey);
  if (saved == metadata.end()) return {};
  std::vector<Assignment> all = parse_config(saved->second, path);
  std::erase_if(all, [](const Assignment& one) {
    const std::string key = one.option->key();
    return key != "model" && key != "training.loss" && key != "training.ignore_index";
  });
  return all;
}

/// Returns for the commands eval and generate the path of the weights, the last of the key "files.load" in `all`; "" if
/// there is none, and "" for other commands. Throws InvalidArgument for an empty path.
std::string used_weights(const JobFlags& flags, const std::vector<Assignment>& all) {
  if (flags.command != "eval" && flags.command != "generate") return "";
  return config_with(all, "files.load").files.load;
}

std::string joined_texts(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

/// Returns `config`, which `all` has changed, with what the plan decides. If `all` gives no element type, also sets the
/// plan's, if that is f32 or f64; for plans of 16-bit types that of `config` stays. Throws InvalidArgument as
/// `require_planned_model` does, and if another value was given for a key that the plan decides.
JobConfig planned_config(JobConfig config, const std::vector<Assignment>& all, const PlanFile& plan) {
  require_planned_model(config, plan);
  if (!assigns(all, "training.dtype") && (plan.dtype == DType::f32 || plan.dtype == DType::f64)) {
    config.training.dtype = plan.dtype;
  }
  const JobConfig planned = with_plan(config, plan);
  for (const Assignment& one : all) {
    if (!is_planned(one.option->key())) continue;
    const std::string got = joined_texts(one.option->get(config)), expected = joined_texts(one.option->get(planned));
    if (got == expected) continue;
    throw InvalidArgument("[{}] {} was made for another value, got {}, expected {}, or another plan", one.where,
                          plan.path, got.empty() ? "none" : got, expected.empty() ? "none" : expected);
  }
  return planned;
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
  return (option.effect == Effect::program || option.effect == Effect::placement || option.key() == "data.source" ||
          option.key() == "plan.file") &&
         option.section != OptionSection::schedule;
}

bool rounds_values(const JobOption& option) {
  const std::string key = option.key();
  return key == "training.precision" || key == "training.precision_of" || key == "training.residual";
}

std::string take_model(std::vector<Assignment>& all) {
  const std::string model = config_with(all, "model").model;
  std::erase_if(all, names_model);
  return model;
}

std::vector<Assignment> assignments_without_model(const JobFlags& flags) {
  std::vector<Assignment> all = assignments_of(flags);
  std::erase_if(all, names_model);
  return all;
}

JobConfig configuration(const JobFlags& flags) {
  std::vector<Assignment> all = assignments_of(flags);
  std::string model = flags.model;
  const std::string weights = used_weights(flags, all);
  if (model.empty() && !weights.empty() && !assigns(all, "model")) {
    std::vector<Assignment> saved = network_in(weights);  // other assignments come after it and win
    saved.insert(saved.end(), all.begin(), all.end());
    all = std::move(saved);
  }
  // The model comes first: its recipe is what the others change.
  const std::string assigned = take_model(all);
  if (model.empty()) model = assigned;
  const std::string plan_name = config_with(all, "plan.file").plan.file;
  std::optional<PlanFile> plan;
  if (!plan_name.empty() && !is_automatic_plan(plan_name)) plan = read_plan_file(plan_name);
  if (plan && model.empty()) model = plan->model;
  if (model.empty()) {
    throw InvalidArgument(
        "[{}] no model, got {}, expected MODEL or a configuration file with model = \"...\": one of [{}]",
        flags.command, weights.empty() ? "nothing" : weights + " without a model name", fmt::join(model_names(), ", "));
  }
  const JobConfig config = configured(model, all);
  if (is_automatic_plan(plan_name)) {
    const Place place = this_place();
    plan = telling_refusals(place, [&] { return automatic_plan(plan_name, config, place.ranks(), "--plan"); });
  }
  if (!plan) return config;
  JobConfig planned = planned_config(config, all, *plan);
  for (const std::string& warning : {dtype_warning(*plan, planned.training), software_warning(*plan)}) {
    if ((flags.command == "train" || flags.command == "compile") && !warning.empty()) warn(warning);
  }
  return planned;
}

bool is_given(const JobFlags& flags, std::string_view key) { return assigns(flags.given, key); }

bool is_set(const JobFlags& flags, std::string_view key) { return assigns(assignments_of(flags), key); }

bool printed_config(const JobFlags& flags, const JobConfig& config) {
  if (flags.print_config) std::cout << print(config);
  return flags.print_config;
}

std::string flag_by_synonym(std::string_view flag) {
  for (const JobOption& option : job_options()) {
    if (std::ranges::find(option.synonyms, flag) != option.synonyms.end()) {
      return "--" + option.flag;
    }
  }
  return "";
}

}  // namespace partita
