#include "training/measures.h"

#include <algorithm>

#include "job/loss_scaling.h"
#include "training/configuration.h"
#include "training/kept_texts.h"

namespace partita {
namespace {

using Say = std::function<void(const std::string&)>;

/// Type that limits the scale of the loss: f16 where products have it, else that of parameters, whose range bf16 has.
std::string limit_of_scale(const TrainingConfig& training, const ScopePrecisions& of_network) {
  const auto is_f16 = [](const std::string& layer) { return layer.ends_with("=f16"); };
  const bool has_f16 = training.precision == MixedPrecision::f16 ||
                       std::ranges::any_of(training.precision_of, is_f16) ||
                       std::ranges::any_of(of_network, [](const auto& layer) { return layer.second == "f16"; });
  return std::string(name_of(has_f16 ? DType::f16 : training.dtype));
}

std::string scale_text(const TrainingConfig& training, const ScopePrecisions& of_network) {
  switch (loss_scaling_of(training)) {
    case LossScaling::fixed: return fmt::format("static {}", training.loss_scale.value_or(1));
    case LossScaling::dynamic: return "dynamic " + limit_of_scale(training, of_network);
    default: return "off";
  }
}

std::string rate_text(const JobConfig& config, const std::string& optimizer) {
  const LrSchedule& schedule = config.schedule;
  std::string text = fmt::format("{}, {} {}", optimizer, name_of(schedule.kind), schedule.learning_rate);
  if (schedule.warmup_steps > 0) text += fmt::format(", warm-up {}", schedule.warmup_steps);
  if (schedule.kind == LrKind::step) text += fmt::format(", every {} by {}", schedule.step_every, schedule.step_factor);
  if (schedule.kind == LrKind::polynomial) text += fmt::format(", power {} to {}", schedule.power, schedule.final_rate);
  return text;
}

std::string loss_text(const JobConfig& config) {
  const TrainingConfig& training = config.training;
  std::string text = fmt::format("{} loss", name_of(training.loss));
  if (training.ignore_index) text += fmt::format(" without label {}", *training.ignore_index);
  return text + " of " + (config.model.empty() ? "the program's network" : config.model);
}

std::string entry_of(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found != metadata.end() ? found->second : "";
}

/// Returns the name of what EarlyStopping measures in a file without names, by the configuration of the file: the
/// command adds it for `training.patience`. "" if a program may have added another one.
std::string old_early_stopping(const JobConfig& then, const Measures& measures) {
  if (!then.training.patience) return "";
  return "lowest " + (then.training.validate ? measures.validation_loss : measures.training_loss);
}

/// Adds what the numbers and texts of a file of an older program measure, which says nothing of it but its
/// configuration `then`. It has a validation only where `then` validates; its rows are not known, and taken for those
/// of `training`. The update of a program is not known either.
void add_old_measures(TrainingPosition& saved, const JobConfig& then, const GoesOn& training) {
  if (!saved.measures.empty()) return;
  Metadata old = saved.metadata;
  const std::string rows = entry_of(training.described, kValidationKey);
  if (then.training.validate) old[kValidationKey] = rows.empty() ? "that are not known" : rows;
  const Measures measures = measures_of(then, {}, "", old);
  saved.measures = named(measures);
  if (!training.own_update.empty()) saved.measures.erase(kRateMeasure);
  for (auto& [key, kept] : saved.callbacks) {
    if (kept.measures.empty()) {
      kept.measures = key == kEarlyStoppingKey ? old_early_stopping(then, measures)
                                               : either_loss(measures.training_loss, measures.validation_loss);
    }
  }
}

/// Returns what a message about the file `path` begins with. "" if nobody knows the file.
std::string in_file(const std::string& path) { return path.empty() ? "" : path + ": "; }

/// Whether the configuration asks for a first dynamic scale that the saved training did not have.
bool sets_scale(const TrainingConfig& now, const std::optional<JobConfig>& then) {
  if (loss_scaling_of(now) != LossScaling::dynamic || !now.loss_scale) return false;
  return !then || then->training.loss_scale != now.loss_scale;
}

/// Whether the configuration asks for a length of the schedule that the saved training did not have.
bool sets_length(const LrSchedule& now, const std::optional<JobConfig>& then) {
  return now.steps > 0 && then && then->schedule.steps != now.steps;
}

}  // namespace

std::string optimizer_measure(const JobConfig& config, const std::string& own_update) {
  return own_update.empty() ? std::string(name_of(config.optimizer.kind)) : own_update;
}

Measures measures_of(const JobConfig& config, const ScopePrecisions& of_network, const std::string& own_update,
                     const Metadata& described) {
  Measures measures{.learning_rate = rate_text(config, optimizer_measure(config, own_update)),
                    .loss_scale = scale_text(config.training, of_network),
                    .training_loss = loss_text(config),
                    .validation_loss = ""};
  if (const std::string rows = entry_of(described, kRowsKey); !rows.empty())
    measures.training_loss += " on rows " + rows;
  if (config.training.micro_loss == MicroLoss::sum) measures.training_loss += ", summed over micro-batches";
  if (described.contains(kValidationKey)) {
    measures.validation_loss = loss_text(config) + " on validation rows " + entry_of(described, kValidationKey);
  }
  return measures;
}

std::map<std::string, std::string> named(const Measures& measures) {
  return {{kRateMeasure, measures.learning_rate},
          {kScaleMeasure, measures.loss_scale},
          {kLossMeasure, measures.training_loss}};
}

std::map<std::string, std::string> saved_measures(const Metadata& metadata, const std::string& path) {
  std::map<std::string, std::string> measures = measures_in(metadata);
  const std::string text = entry_of(metadata, kConfigKey);
  if (!measures.empty() || text.empty()) return measures;
  try {
    const JobConfig then = saved_configuration(text, path);
    measures.emplace(kScaleMeasure, scale_text(then.training, {}));
    measures.emplace(kRateMeasure, rate_text(then, optimizer_measure(then, "")));
  } catch (const InvalidFile&) {  // the text of a later version, or of another program: it names nothing
  }
  return measures;
}

std::optional<LossScaleState> comparable_scale(const std::optional<LossScaleState>& saved, const std::string& measures,
                                               const std::string& expected, const std::string& path, const Say& say) {
  if (!saved || measures == expected) return saved;
  say(fmt::format("[resume] {}the scale of the loss begins anew, got {} of {} in the checkpoint, expected one of {}",
                  in_file(path), saved->scale, or_unnamed(measures), expected));
  return std::nullopt;
}

TrainingPosition comparable_part(TrainingPosition saved, const GoesOn& training, const std::string& path,
                                 const Say& say) {
  std::optional<JobConfig> then;
  if (const std::string text = entry_of(saved.metadata, kConfigKey); !text.empty()) {
    then = saved_configuration(text, path);
    add_old_measures(saved, *then, training);
  }
  if (accepts_other_program(training.config, training.described, saved.metadata)) {
    saved.measures[kLossMeasure] += ", of another program";
    for (auto& [key, kept] : saved.callbacks) kept.measures += ", of another program";
  }
  const Measures now = measures_of(training.config, training.of_network, training.own_update, training.described);
  saved.loss_scale = comparable_scale(saved.loss_scale, saved.measures[kScaleMeasure], now.loss_scale, path, say);
  if (saved.loss_scale && sets_scale(training.config.training, then)) {
    say(
        fmt::format("[resume] {}: the scale of the loss begins anew, got {} in the checkpoint, expected {} as "
                    "training.loss_scale says",
                    path, saved.loss_scale->scale, *training.config.training.loss_scale));
    saved.loss_scale.reset();
  }
  const bool has_other_length = sets_length(training.config.schedule, then);
  if (saved.learning_rate && (saved.measures[kRateMeasure] != now.learning_rate || has_other_length)) {
    say(
        fmt::format("[resume] {}: the learning rate follows its schedule again, got {} set in place of {} in the "
                    "checkpoint, expected {}{}",
                    path, *saved.learning_rate, or_unnamed(saved.measures[kRateMeasure]), now.learning_rate,
                    has_other_length ? fmt::format(" over {} steps", training.config.schedule.steps) : ""));
    saved.learning_rate.reset();
  }
  const int64_t steps_per_epoch = saved.batch > 0 ? saved.rows / saved.batch : 0;
  const int64_t steps = steps_per_epoch > 0 ? saved.step % steps_per_epoch : 0;
  if (steps == 0) saved.epoch = {};
  if (steps == 0) return saved;
  const bool has_losses = saved.epoch.steps == steps;
  if (!has_losses || saved.measures[kLossMeasure] != now.training_loss) {
    say(fmt::format(
        "[resume] {}: the mean loss of the epoch is that of its steps from {} on, got {} in the checkpoint, "
        "expected the losses of {}",
        path, saved.step + 1, has_losses ? "losses of " + or_unnamed(saved.measures[kLossMeasure]) : "no losses",
        now.training_loss));
    saved.epoch = {.steps = steps, .uncounted = steps};
  }
  return saved;
}

}  // namespace partita
