#include "job/ineffective.h"

#include <algorithm>
#include <set>

#include "compiler/search/make_plan.h"
#include "ir/optimizers/registry.h"
#include "job/loss_scaling.h"
#include "job/options.h"

namespace partita {
namespace {

/// Returns "a, b or c".
std::string any_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  }
  return text;
}

bool keeps_no_states(const OptimizerOptions& options) {
  const OptimizerDef& optimizer = find_optimizer("optimizer.kind", options.kind.name);
  return options.ema == 0 && std::ranges::none_of(optimizer.states, [&](const OptimizerState& state) {
    return state.only_with.empty() || optimizer_number(options, state.only_with) > 0;
  });
}

/// Checks of a configuration, one method per part.
class Checks {
 public:
  Checks(const JobConfig& config, const IsSaid& is_said, OptionNames names)
      : config_(config), is_said_(is_said), names_(names) {}

  void optimizer() const {
    const OptimizerDef& own = find_optimizer("optimizer.kind", config_.optimizer.kind.name);
    for (const OptimizerOption& option : all_optimizer_options()) {
      if (own.find(option.name) != nullptr) continue;
      refuse({"optimizer." + option.name}, fmt::format("got {}, expected {}", text("optimizer.kind", own.name),
                                                       text("optimizer.kind", any_of(optimizers_with(option.name)))));
    }
  }

  void loss_scaling() const {
    const LossScaling scaling = loss_scaling_of(config_.training);
    const std::string got = "got " + text("training.loss_scaling", std::string(name_of(scaling)));
    if (scaling == LossScaling::dynamic) {
      if (config_.training.on_nan == OnNan::skip) return;
      return refuse({"training.on_nan"},
                    fmt::format("{}, expected {}, or off", got, text("training.loss_scaling", "static")));
    }
    refuse({"training.loss_scale_window", "training.loss_scale_factor"},
           fmt::format("{}, expected {}", got, text("training.loss_scaling", "dynamic")));
    if (scaling != LossScaling::off) return;
    refuse({"training.loss_scale"}, fmt::format("{}, expected {}", got, text("training.loss_scaling", "static")));
  }

  void reduce_dtype() const {
    if (config_.training.dtype == DType::f32) return;  // on one rank it has no effect
    refuse({"training.reduce_dtype"},
           fmt::format("got {}, expected {}", text("training.dtype", to_text(config_.training.dtype)),
                       text("training.dtype", "f32")));
  }

  void schedule() const {
    const LrSchedule& schedule = config_.schedule;
    const std::string got = "got " + text("schedule.kind", std::string(name_of(schedule.kind)));
    if (schedule.kind == LrKind::constant || schedule.kind == LrKind::inverse_sqrt) {
      refuse({"schedule.steps"}, fmt::format("{}, expected {}", got,
                                             text("schedule.kind", "linear, cosine, step, polynomial or one_cycle")));
    } else if (schedule.kind == LrKind::step && schedule.step_every > 0) {
      refuse({"schedule.steps"}, fmt::format("got {}, expected only one of the two",
                                             text("schedule.step_every", fmt::format("{}", schedule.step_every))));
    }
    if (schedule.kind != LrKind::step) {
      refuse({"schedule.step_every", "schedule.step_factor"},
             fmt::format("{}, expected {}", got, text("schedule.kind", "step")));
    }
    if (schedule.kind != LrKind::polynomial) {
      refuse({"schedule.polynomial_power", "schedule.final_rate"},
             fmt::format("{}, expected {}", got, text("schedule.kind", "polynomial")));
    }
  }

  void plan() const {
    const PlanOptions& options = config_.plan.options;
    if (!uses_annotations(options.parallel)) {
      refuse({"plan.dataset_strategy"},
             fmt::format("got {}, expected {}", text("plan.parallel", std::string(name_of(options.parallel))),
                         text("plan.parallel", "semi or auto")));
    }
    if (options.zero.level == 0) {
      refuse({"plan.zero_group", "plan.zero_threshold"},
             fmt::format("got {}, expected 1, 2 or 3", text("plan.zero", "0")));
    } else if (options.zero.level == 1 && keeps_no_states(config_.optimizer) &&
               config_.training.precision == MixedPrecision::f32 && config_.training.precision_of.empty()) {
      refuse({"plan.zero"}, fmt::format("got {} with {}, which has no states, expected {}", text("plan.zero", "1"),
                                        text("optimizer.kind", std::string(config_.optimizer.kind.name)),
                                        text("plan.zero", "2 or 3")));
    }
    if (config_.training.gradients == GradientReduction::sum && config_.ranks.count == 1) {
      refuse({"training.gradients"}, fmt::format("got {}, expected 2 ranks or more", text("ranks.count", "1")));
    }
  }

  void evaluation() const {
    if (config_.training.evaluate) return;
    const bool validates = config_.training.validate || config_.training.validate_every > 0;
    const std::string got = "got " + text("training.evaluate", "false"), expected = text("training.evaluate", "true");
    refuse({"evaluation.top"}, fmt::format("{}, expected {}", got, expected));
    if (validates) return;
    refuse({"evaluation.batch", "evaluation.metrics"},
           fmt::format("{}, expected {} or {}", got, expected, text("training.validate", "true")));
  }

  void files() const {
    const FilesConfig& files = config_.files;
    const auto refuse_without = [&](const std::vector<std::string>& keys, const char* key, const char* value) {
      refuse(keys, fmt::format("got no {}, expected {}", text(key), text(key, value)));
    };
    if (files.load.empty()) refuse_without({"files.load_averages", "files.adapters"}, "files.load", "DIR");
    if (files.save.empty()) {
      refuse_without({"files.save_averages"}, "files.save", "FILE");
    } else if (config_.optimizer.ema == 0) {
      refuse({"files.save_averages"},
             fmt::format("got {}, expected {}", text("optimizer.ema", "0"), text("optimizer.ema", "0.999")));
    }
    if (files.trace.empty()) refuse_without({"files.trace_steps"}, "files.trace", "FILE");
    if (files.trace.empty() && files.run.empty()) refuse_without({"files.cluster"}, "files.trace", "FILE");
    if (files.resume.empty()) refuse_without({"files.resume_with"}, "files.resume", "FILE");
    if (files.checkpoint.empty()) {
      refuse_without({"files.checkpoint_seconds", "files.checkpoint_keep", "files.checkpoint_async",
                      "files.checkpoint_integrated", "files.checkpoint_errors", "files.keep_best"},
                     "files.checkpoint", "DIR");
    } else if (!config_.training.validate && config_.training.validate_every == 0) {
      refuse({"files.keep_best"}, fmt::format("got no test while it trains, expected {} or {}",
                                              text("training.validate", "true"), text("training.validate_every", "N")));
    }
    if (files.keep_best.empty()) refuse_without({"files.restore_best"}, "files.keep_best", "loss");
  }

  /// Checks that there is a folder of checkpoints if the latest one is asked for, even by a recipe or a file. Throws
  /// InvalidArgument otherwise.
  void latest() const {
    if (config_.files.resume != kLatestCheckpoint || !config_.files.checkpoint.empty()) return;
    const std::string where = names_ == OptionNames::flags ? "[--resume]" : "[Model] files.resume:";
    throw InvalidArgument("{} no folder to search, got latest without {}, expected {} or {}", where,
                          text("files.checkpoint"), text("files.checkpoint", "DIR"), text("files.resume", "DIR"));
  }

 private:
  std::string text(std::string_view key, const std::string& value = "") const {
    return option_text(names_, key, value);
  }
  void refuse(const std::vector<std::string>& keys, const std::string& why) const {
    for (const std::string& key : keys) {
      if (is_said_(key)) refuse_option(names_, key, why);
    }
  }

  const JobConfig& config_;
  const IsSaid& is_said_;
  OptionNames names_;
};

}  // namespace

std::string option_text(OptionNames names, std::string_view key, const std::string& value) {
  const JobOption& option = find_option(key);
  if (names == OptionNames::fields) return value.empty() ? option.key() : fmt::format("{} = {}", option.key(), value);
  if (option.form == JobOption::Form::boolean) return (value == "false" ? "--no-" : "--") + option.flag;
  return value.empty() ? "--" + option.flag : fmt::format("--{} {}", option.flag, value);
}

IsSaid differs_from(const JobConfig& config, const JobConfig& recipe) {
  std::set<std::string> keys, others;
  for (const Difference& one : differences(config, JobConfig())) keys.insert(one.option->key());
  for (const Difference& one : differences(config, recipe)) others.insert(one.option->key());
  return [keys = std::move(keys), others = std::move(others)](std::string_view key) {
    const std::string name(key);
    return keys.contains(name) && others.contains(name);
  };
}

void refuse_option(OptionNames names, std::string_view key, const std::string& why) {
  const std::string option = option_text(names, key);
  throw InvalidArgument(names == OptionNames::flags ? fmt::format("[{}] has no effect, {}", option, why)
                                                    : fmt::format("[Model] {} has no effect, {}", option, why));
}

void refuse_ineffective(const JobConfig& config, const IsSaid& is_said, OptionNames names) {
  const Checks checks(config, is_said, names);
  checks.optimizer();
  checks.loss_scaling();
  checks.reduce_dtype();
  checks.schedule();
  checks.plan();
  checks.evaluation();
  checks.files();
  checks.latest();
}

}  // namespace partita
