#include "training/training_session.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/checksum.h"
#include "base/same_file.h"
#include "ir/ops/registry.h"
#include "job/process.h"
#include "job/program.h"
#include "planner/plan_file/plan_file.h"
#include "runtime/checkpoint/kinds.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/run_process.h"
#include "training/configuration.h"
#include "training/fill_states.h"
#include "training/length_notes.h"
#include "training/measures.h"
#include "training/model_fingerprint.h"
#include "training/table_limits.h"
#include "training/training_run.h"

namespace partita {
namespace {

/// Checks that no file would be written over another: only saved weights may replace loaded ones, and a checkpoint the
/// one resumed from. Throws InvalidArgument otherwise.
void refuse_shared_files(const FilesConfig& files) {
  const std::string run_log = files.run.empty() ? "" : log_of_run(files.run);
  const std::pair<const char*, const std::string*> all[] = {
      {"--log", &files.log}, {"--trace", &files.trace}, {"--save", &files.save},    {"--checkpoint", &files.checkpoint},
      {"--run", &run_log},   {"--load", &files.load},   {"--resume", &files.resume}};
  // Weights may replace those that were loaded, and a checkpoint may replace the one before.
  const std::set<std::pair<std::string, std::string>> allowed{{"--save", "--load"}, {"--checkpoint", "--resume"}};
  for (const auto& [written, path] : std::span(all).first(5)) {
    for (const auto& [flag, other] : all) {
      if (path == other || path->empty() || other->empty() || allowed.contains({written, flag})) continue;
      if (!same_file(*path, *other)) continue;
      throw InvalidArgument("[{}] the same file as {}, got {}, expected another file", written, flag, *path);
    }
  }
}

/// Checks the names of metrics. Throws InvalidArgument for an unknown one.
void require_metrics(const JobConfig& config, const std::vector<OwnMetric>& own) {
  std::vector<std::string> names = parse_metrics("--metrics", config.evaluation.metrics, own);
  for (const OwnMetric& metric : own) names.push_back(metric.name);
  names.insert(names.begin(), {"loss", "accuracy"});
  if (!config.files.keep_best.empty()) position_of_name("--keep-best", config.files.keep_best, names);
}

/// Checks, before hours of training and not after, that the file of weights and, in the first process, the folder of
/// checkpoints can be written. Throws RuntimeFailure(cannot_write) otherwise, and as require_new_run does.
void require_writable(const FilesConfig& files, const Place& place) {
  if (!files.save.empty()) check_writable(files.save);
  if (!files.run.empty() && place.is_first()) require_new_run(files.run, /*goes_on=*/!files.resume.empty());
  if (!files.checkpoint.empty() && place.is_first()) check_checkpoint_folder(files.checkpoint);
}

std::optional<CheckpointOptions> checkpoint_options(const FilesConfig& files) {
  if (files.checkpoint.empty()) return std::nullopt;
  return CheckpointOptions{.folder = files.checkpoint,
                           .every = files.checkpoint_every,
                           .seconds = files.checkpoint_seconds,
                           .keep = files.checkpoint_keep,
                           .asynchronous = files.checkpoint_async == Switch::on,
                           .integrated = files.checkpoint_integrated,
                           .stop_on_error = files.checkpoint_errors == CheckpointErrors::stop};
}

/// Returns the options of the call, with the configuration's checkpoints if they name none. States are kept, too, if
/// the configuration saves weights.
FitOptions completed_fit(FitOptions fit, const FilesConfig& files) {
  if (!fit.checkpoints) fit.checkpoints = checkpoint_options(files);
  fit.keeps_states = fit.keeps_states || !files.save.empty();
  return fit;
}

Reports::Options report_options(const ModelJob& job, const FitOptions& fit) {
  return {.validates = job.config.training.validate || job.config.training.validate_every > 0 || fit.validation,
          .prints = fit.prints,
          .warn = job.warn,
          .must_end = [signals = fit.signals] { return signals && signals().stop != 0; }};
}

/// Whether a report of the training shows seconds of communication and the memory.
bool measures_communication(const JobConfig& config) {
  const FilesConfig& files = config.files;
  return !files.log.empty() || !files.run.empty() || !files.tensorboard.empty() || config.console.verbose;
}

/// Lets the folder of a run, if there is one, receive the events of the training.
void record_events(RunFolder* folder, const std::string& checkpoints, TrainingRun& run) {
  if (folder == nullptr) return;
  run.rank_times = [folder](const RankTimes& times) { folder->add_times(times); };
  run.saved = [folder, checkpoints](int64_t step) { folder->add_checkpoint(step, checkpoint_path(checkpoints, step)); };
}

/// Returns why a training ended before its last step; "" if it did not.
std::string reason_of(const TrainingEnd& ended) {
  if (!ended.checkpoint_error.empty()) return ended.checkpoint_error;
  return ended.stopped_by == 0 ? "" : fmt::format("ended by {}", signal_name(ended.stopped_by));
}

template <class T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Returns the position of a training that begins, and sets what its losses measure.
TrainingPosition fresh_position(const ModelJob& job, const FitOptions& fit, bool resumes, TrainingRun& run) {
  const bool keeps_texts =
      std::ranges::any_of(run.callbacks, [](const Callback* callback) { return !callback->kept_as().empty(); });
  TrainingPosition fresh{.batch = run.batch,
                         .rows = run.rows->size(),
                         .seed = job.config.training.seed,
                         .metadata = describe_training(job.config, run.program.graph, run.rows, run.schedule.steps,
                                                       keeps_texts ? fit.validation : nullptr)};
  const std::string own_update = job.own_update ? job.own_update_name : "";
  const Measures measures = measures_of(job.config, job.network.precisions(), own_update, fresh.metadata);
  fresh.measures = named(measures);
  if (fit.learning_rate) fresh.measures[kRateMeasure] = fit.learning_rate->text();
  fresh.measures[kOptimizerMeasure] = optimizer_measure(job.config, own_update);
  if (fit.loss_scale && !resumes) {
    const auto& [state, measured, path] = *fit.loss_scale;
    fresh.loss_scale = comparable_scale(state, measured, measures.loss_scale, path, job.warn);
  }
  run.info.training_loss = measures.training_loss;
  run.info.validation_loss = measures.validation_loss;
  return fresh;
}

/// Returns the plan that the program runs, as a text for checkpoints; "" if it has none.
std::string plan_of(const ModelJob& job, const Program& program, const std::vector<Column>& columns) {
  const JobConfig& config = job.config;
  std::optional<PlanFile> plan = plan_file_of(config, program, all_ops());
  if (!plan) return "";
  plan->cluster = config.files.cluster;
  plan->network = network_fingerprint(
      config, {.network = job.network, .columns = columns, .batch = config.training.batch, .ranks = plan->ranks});
  return print(*plan);
}

}  // namespace

Program training_program(const ModelJob& job, const DatasetPtr& rows) {
  verify_training(with_stages(job.config, job.network, rows->columns()), job.place);
  verify_resume_with(job.config);
  const int64_t batch = job.config.training.batch;
  if (rows->size() < batch) {
    throw InvalidArgument("[train] too few rows, got {}, expected at least one batch of {}", rows->size(), batch);
  }
  return job.program(rows->columns(), batch, job.config.ranks.count, Purpose::training);
}

TrainingSession::TrainingSession(const TrainedModel& model, const FitOptions& fit, const IsSaid& is_said)
    : model_(model),
      config_(model.job.config),
      fit_(completed_fit(fit, config_.files)),
      reports_(config_, model.job.place, report_options(model.job, fit)) {
  if (fit.checkpoints && !config_.files.checkpoint.empty()) {
    refuse_option(OptionNames::fields, "files.checkpoint",
                  "got FitOptions::checkpoints too, expected only one of the two");
  }
  require_effects(is_said);
  require_metrics(config_, model.job.own_metrics);
  refuse_shared_files(config_.files);
  require_writable(config_.files, model.job.place);
  if (fit_.prints) warn_of_oversubscription(config_, model.job.place, warning());
  if (config_.plan.given && !config_.plan.given->description.empty()) {
    reports_.tell_progress(config_.plan.given->description + "\n");
  }
  // The lock comes before the search for the newest checkpoint, since an earlier attempt may still be writing one.
  if (fit_.checkpoints && model.job.writes_files()) {
    model.hold.hold(fit_.checkpoints->folder, /*waits=*/model.resume.is_set(), model.job.warn);
  }
}

/// Checks that the options that were asked for have an effect. Those of evaluations pass, since they apply whenever one
/// runs, and so does `files.resume_with` if a call names a checkpoint. Throws InvalidArgument otherwise.
void TrainingSession::require_effects(const IsSaid& is_said) const {
  const auto is_asked = [&](std::string_view key) {
    if (key.starts_with("evaluation.") || (key == "files.resume_with" && model_.resume.is_set())) return false;
    if (key == "files.keep_best" && fit_.validation && fit_.checkpoints) return false;
    return is_said(key);
  };
  refuse_ineffective(config_, is_asked, OptionNames::fields);
}

void TrainingSession::choose_tests(const DatasetPtr& test) {
  if (fit_.test == nullptr) fit_.test = test;
  const TrainingConfig& training = config_.training;
  // Rows of the call are for validations after every epoch, unless the configuration asks for others.
  validates_epochs_ = training.validate || (fit_.validation && training.validate_every == 0);
  const bool validates = training.validate || training.validate_every > 0;
  if (validates && fit_.validation == nullptr) fit_.validation = fit_.test;
  if (validates && fit_.validation == nullptr) {
    refuse_option(OptionNames::fields, training.validate ? "training.validate" : "training.validate_every",
                  "got no rows to validate on, expected FitOptions::validation, FitOptions::test or data.source");
  }
  if (!config_.training.evaluate) fit_.test = nullptr;
}

TrainingEnd TrainingSession::train(const DatasetPtr& rows, const DatasetPtr& test) {
  choose_tests(test);
  for (const auto& note : {note_on_length, note_on_warm_up, note_on_left_out}) {
    reports_.tell_progress(note(config_, fit_, rows->size()));
  }
  const ModelStates::Waiting states = model_.states.waiting();
  const std::string resumed = model_.resume.path();
  model_.resume.find_latest(config_.files.checkpoint, warning(),
                            [this](const std::string& text) { reports_.tell(text); });
  try {
    return train_program(training_program(model_.job, rows), rows);
  } catch (const std::exception& error) {
    if (RunFolder* run = reports_.run_folder()) run->end(error.what());
    model_.states.put_back(states);
    model_.resume.set(resumed);
    throw;
  } catch (...) {  // restores the resume state, so that a failed call can be retried
    model_.states.put_back(states);
    model_.resume.set(resumed);
    throw;
  }
}

/// Checks that the program fits the memory next to the copies of states that this process makes, unless `config.force`
/// is set. Throws RuntimeFailure(out_of_memory) otherwise.
void TrainingSession::require_room(const Program& program, bool is_fresh, bool reads_folder) const {
  const bool copies_share = fit_.checkpoints && fit_.checkpoints->asynchronous;
  model_.job.require_room(program, config_.ranks.count,
                          (is_fresh || reads_folder ? 0 : 1) + (fit_.keeps_states ? 1 : 0) + (copies_share ? 1 : 0));
}

TrainingEnd TrainingSession::train_program(const Program& program, const DatasetPtr& given) {
  const ModelJob& job = model_.job;
  const DatasetPtr dataset = checked_ids(given, table_limits(program.graph, all_ops()));
  const auto report = [&](const std::string& text) {
    if (job.report) job.report(text);
    if (config_.console.verbose) reports_.tell(text);
  };
  report(describe_program(program));
  // Each rank creates its part of states that only the seed determines, and reads its part of weights that it can read.
  if (model_.states.have_source() && !model_.resume.is_set()) source_ = model_.states.source(program.graph);
  const bool is_fresh = source_ != nullptr || (model_.states.are_fresh() && !model_.resume.is_set());
  std::vector<FoundCheckpoint> folders = model_.resume.folders(warning());
  require_room(program, is_fresh, !folders.empty());
  model_.states.prepare(program.graph, config_.training.seed, /*makes_them=*/folders.empty() && !is_fresh,
                        model_.resume.is_set());
  std::optional<Evaluation> validation, test;
  if (fit_.validation) validation.emplace(make_evaluation(job, fit_.validation, &program));
  if (fit_.test && fit_.test != fit_.validation) test.emplace(make_evaluation(job, fit_.test, &program));
  for (const auto* evaluation : {&validation, &test}) {
    if (*evaluation) report(describe_evaluation(program, **evaluation));
  }
  TrainingRun run = make_run(program, dataset, is_fresh);
  if (validation) run.validation = &*validation;
  if (fit_.test) run.test = test ? &*test : run.validation;
  TrainingEnd ended;
  run.ended = [&](TrainingResult&& result) { ended = end(std::move(result)); };
  run.tested = [&](const Metrics& metrics) {
    ended.test = metrics;
    if (RunFolder* folder = reports_.run_folder()) folder->add_test(metrics);
  };
  run.save = [&program](const std::string& path, const States& states, const Metadata& boxes,
                        const TrainingPosition& position) {
    TrainingPosition now = position;
    now.metadata.insert(boxes.begin(), boxes.end());
    write_checkpoint(path, states, kinds_of(program.graph), now);
  };
  try {
    run_from(run, std::move(folders));
  } catch (...) {
    // Restores the model's states if the training did not return whole ones.
    model_.states.restore(program.graph, config_.training.seed, is_fresh && !source_ && fit_.keeps_states);
    throw;
  }
  if (!fit_.keeps_states) model_.states.release();
  if (RunFolder* folder = reports_.run_folder()) folder->end(reason_of(ended));
  return ended;
}

std::function<void(const std::string&)> TrainingSession::warning() const {
  return [warn = model_.job.warn, folder = reports_.run_folder()](const std::string& message) {
    if (warn) warn(message);
    if (folder != nullptr) folder->add_warning(message);
  };
}

/// Returns this process's description of the training, without what depends on its first step.
TrainingRun TrainingSession::make_run(const Program& program, const DatasetPtr& rows, bool is_fresh) const {
  const ModelJob& job = model_.job;
  TrainingRun run{.program = program,
                  .rows = rows,
                  .batch = config_.training.batch,
                  .schedule = config_.schedule,
                  .training = config_.training,
                  .rank = job.rank_options(),
                  .callbacks = joined(reports_.callbacks(), fit_.callbacks),
                  .observers = joined(reports_.observers(), fit_.observers),
                  .checkpoints = fit_.checkpoints ? &*fit_.checkpoints : nullptr,
                  .owner = fit_.checkpoints ? model_.hold.lock() : nullptr,
                  .signals = fit_.signals,
                  .trace = {.path = config_.files.trace,
                            .steps = config_.files.trace_steps,
                            .cluster = config_.files.cluster,
                            .threads = config_.ranks.threads},
                  .measures_communication = measures_communication(config_),
                  .warn = warning(),
                  .own_process = job.world != nullptr,
                  .keeps_states = fit_.keeps_states,
                  .test_progress = reports_.evaluation_progress()};
  run.info.program = &program;
  run.rate = fit_.learning_rate;
  run.validates_epochs = validates_epochs_;
  run.validate_every = config_.training.validate_every;
  run.restores_best = config_.files.restore_best;
  record_events(reports_.run_folder(), config_.files.checkpoint, run);
  run.begin =
      is_fresh ? fresh_states(program.graph, config_.training.seed, source_.get()) : states_from(model_.states.all());
  if (fit_.checkpoints && job.writes_files()) run.plan = plan_of(job, program, rows->columns());
  return run;
}

/// Sets the length of the training, counted from its first step, and that of its schedule if none is given. Throws
/// InvalidArgument for a negative number of epochs or steps, more than kMaxEpochs epochs, and 0 epochs in the call.
void TrainingSession::plan_steps(TrainingRun& run) const {
  const int64_t epochs = fit_.epochs.value_or(config_.training.epochs);
  const int64_t max_steps = fit_.max_steps.value_or(config_.training.steps);
  if (epochs < (fit_.epochs ? 1 : 0) || epochs > kMaxEpochs || max_steps < 0) {
    throw InvalidArgument(
        "[train] bad length, got {} epochs and at most {} steps, expected 1 epoch or more, and 0 steps, which means "
        "all, or more",
        epochs, max_steps);
  }
  TrainInfo& info = run.info;
  info.steps_per_epoch = run.rows->size() / run.batch;
  info.steps = training_steps(epochs, max_steps, info.steps_per_epoch);
  info.epochs = (info.steps + info.steps_per_epoch - 1) / info.steps_per_epoch;
  if (run.schedule.steps == 0) run.schedule.steps = info.steps;
}

/// Sets the position from which the training goes on. Warns if no step is left.
void TrainingSession::go_on_from(TrainingRun& run, TrainingPosition position) const {
  run.position = std::move(position);
  TrainInfo& info = run.info;
  info.first_step = std::min(run.position.step, info.steps);
  run.trace.goes_on = info.first_step > 0;
  if (info.first_step > 0 && info.first_step == info.steps) {
    warn(fmt::format("[resume] nothing left to train: the checkpoint is of step {}, the training has {}",
                     run.position.step, info.steps));
  }
}

void TrainingSession::run_from(TrainingRun& run, std::vector<FoundCheckpoint> folders) {
  const ModelJob& job = model_.job;
  const Program& program = run.program;
  plan_steps(run);
  const TrainingPosition fresh = fresh_position(job, fit_, model_.resume.is_set(), run);
  while (true) {
    std::unique_ptr<CheckpointReader> resumed;
    if (!folders.empty()) {
      const FoundCheckpoint& newest = folders.back();
      resumed = std::make_unique<CheckpointReader>(newest.path, std::make_shared<const Manifest>(*newest.manifest));
    }
    run.resumed = resumed.get();
    run.from = resumed ? resumed->path() : model_.resume.path();
    go_on_from(run, model_.resume.position(job, program.graph, resumed.get(), fresh, model_.states.all()));
    if (resumed) {
      reports_.tell_progress(fmt::format("resuming after step {} of {}, from {}\n", run.info.first_step, run.info.steps,
                                         folders.back().path));
    }
    const bool processes = job.world != nullptr;
    LaunchFingerprint fingerprint =
        processes ? fingerprint_of(job, run, fit_, model_.states.all()) : LaunchFingerprint{};
    if (processes && source_) fingerprint.emplace_back("weights that are read", print_checksum(source_->digest()));
    model_.resume.set("");
    std::string damage;
    run_on_ranks(job.place, config_.ranks.count, config_.ranks.threads, [&](Communicator& comm) {
      if (processes) require_same_fingerprint(fingerprint, comm);
      std::string own = run_training(run, comm);
      if (comm.rank() == 0 || processes) damage = std::move(own);
    });
    if (damage.empty()) return;
    if (folders.size() == 1) throw InvalidFile(damage);
    warn(fmt::format("[checkpoint] {} is not used: {}", folders.back().path, damage));
    folders.pop_back();
  }
}

TrainingEnd TrainingSession::end(TrainingResult&& result) {
  TrainingEnd ended{.step = result.position.step,
                    .stopped_by = result.stopped_by,
                    .saved_step = result.saved_step,
                    .checkpoint_error = result.checkpoint_error,
                    .restored_step = result.restored_step,
                    .test = std::nullopt};
  if (const auto& scale = result.position.loss_scale) {
    ended.loss_scale = KeptLossScale{*scale, result.position.measures[kScaleMeasure]};
  }
  if (fit_.keeps_states) {
    model_.states.take(std::move(result.states), std::move(result.position));
  }
  report_end(ended);
  if (fit_.ended) fit_.ended(ended);
  return ended;
}

void TrainingSession::report_end(const TrainingEnd& end) {
  const FilesConfig& files = config_.files;
  if (end.stopped_by != 0) {
    reports_.tell(fmt::format("\ninterrupted: the training ends after step {}\n", end.step));
  }
  if (end.restored_step >= 0) {
    reports_.tell(fmt::format("restored the weights after step {}, the best {}\n", end.restored_step, files.keep_best));
  }
  if (!files.save.empty()) {
    model_.states.save(model_.job, files.save);
    const bool leaves_averages = config_.optimizer.ema > 0 && !files.save_averages;
    reports_.tell(fmt::format("saved to {}{}\n", files.save,
                              leaves_averages ? ", without the averages (--save-averages writes these)" : ""));
  }
  if (!files.checkpoint.empty() && end.checkpoint_error.empty()) {
    reports_.tell(fmt::format("checkpoint in {}\n", checkpoint_path(files.checkpoint, end.saved_step)));
  }
  const bool is_whole = end.stopped_by == 0 && end.checkpoint_error.empty();
  if (fit_.test != nullptr && is_whole) reports_.tell_progress(fmt::format("testing on {} rows\n", fit_.test->size()));
}

}  // namespace partita
