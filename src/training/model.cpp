#include "training/model.h"

#include <algorithm>
#include <filesystem>

#include "checkpoint/saved_states.h"
#include "checkpoint/weights.h"
#include "comm/inproc/inproc.h"
#include "execute/shard_copy.h"
#include "job/options.h"
#include "launch/run_process.h"
#include "ops/registry.h"
#include "pipeline/text.h"
#include "planning/plan_file.h"
#include "training/configuration.h"
#include "training/equal_threads.h"
#include "training/memory.h"
#include "training/table_limits.h"
#include "training/training_run.h"

namespace partita {

namespace {

/// Of a safetensors file, or of a checkpoint folder or the newest of several.
std::map<std::string, Array> weights_in(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return load_weights(path);
  SavedStates states(path);
  std::map<std::string, Array> weights;
  for (const auto& entry : states.entries()) {
    if (is_weight(entry.kind)) weights.emplace(entry.name, states.read(entry.name));
  }
  return weights;
}

constexpr int64_t kLargeEvaluationBatch = 256;     // rows, where nobody says how many
constexpr int64_t kFreeBytes = int64_t{32} << 20;  // that an evaluation may take of a rank whatever a training takes

/// A network may hold arrays with as many rows as a batch has.
std::map<std::string, Type> state_types(const Graph& graph) {
  std::map<std::string, Type> types;
  for (const State& state : graph.states) types.emplace(graph.values[state.entry].name, graph.type(state.entry));
  return types;
}

/// Bytes of a rank while an evaluation runs, with the states.
int64_t largest_arena_of(const Evaluation& evaluation, const Program* training) {
  int64_t bytes = 0;
  for (const Program* program : evaluation.programs()) {
    bytes = std::max(bytes,
                     training != nullptr ? largest_arena_between_steps(*training, *program) : largest_arena(*program));
  }
  return bytes;
}

}  // namespace

Model::Model(Network network, const JobConfig& config, const Place& place)
    : network_(std::move(network)), config_(completed(config, place)), place_(place) {
  if (place_.ranks() > 1) world_ = &process_world(*place_.launched);
}

void Model::load(const std::string& path) {
  if (known_states_.states.empty()) {
    loaded_path_ = path;
    return;
  }
  take_weights(states_, known_states_, weights_in(path), path);
  loaded_path_.clear();
}

void Model::assign(States values) {
  values.merge(states_);
  states_ = std::move(values);
}

void Model::hold_checkpoints(const std::string& folder, bool goes_on) {
  if (!writes_files() || folder == held_folder_) return;
  checkpoints_lock_.reset();
  held_folder_.clear();
  checkpoints_lock_.emplace(owned_checkpoints(folder), /*waits=*/goes_on, warn_);
  held_folder_ = folder;
}

void Model::require_states() const {
  if (!known_states_.states.empty() && states_.empty()) {
    throw InvalidArgument(
        "[save] the ranks of a training hold the states, got a call while it runs, expected one behind it or "
        "TrainControl::save_checkpoint");
  }
  if (!known_states_.states.empty() && loaded_path_.empty()) return;
  const std::string got = !loaded_path_.empty() ? fmt::format("weights of {} that wait", loaded_path_)
                          : is_spent_           ? "a model whose training did not keep them"
                                                : "a model that was only made";
  throw InvalidArgument(
      fmt::format("[save] no weights to save, got {}, expected a training, an evaluation or a prediction before", got));
}

void Model::save(const std::string& path) const {
  require_states();
  check_finite(states_, weight_names_);
  if (!writes_files()) return;
  std::vector<std::pair<std::string, Array>> weights;
  for (const std::string& name : weight_names_) weights.emplace_back(name, states_.at(name));
  save_weights(path, weights, describe_weights(config_));
}

void Model::save_checkpoint(const std::string& path) const {
  require_states();
  if (position_.batch == 0) {
    throw InvalidArgument("[save] no training to go on with, got a model without one, expected a training before");
  }
  check_finite(states_, weight_names_);
  if (writes_files()) write_checkpoint(path, states_, position_);
}

LaunchFingerprint Model::fingerprint_of(const Program& program, const DatasetPtr& rows) const {
  const auto digest_of_stages = [&](const std::function<std::string(const StageProgram&)>& print_one) {
    return print_digest(digest_of(print_stages(program.pipeline, program.stages, print_one)));
  };
  LaunchFingerprint fingerprint;
  const bool may_threads_differ = !needs_equal_threads(program);
  for (const JobOption& option : job_options()) {
    if (option.effect == Effect::console || (option.key() == "ranks.threads" && may_threads_differ)) continue;
    fingerprint.emplace_back(option.key(), fmt::format("{}", fmt::join(option.get(config_), ", ")));
  }
  fingerprint.insert(
      fingerprint.end(),
      {{"graph", print_digest(digest_of(print(program.graph)))},
       {"plan", digest_of_stages([](const StageProgram& stage) { return print(stage.plan, stage.graph, all_ops()); })},
       {"local graph", digest_of_stages([](const StageProgram& stage) { return print(stage.local, all_ops()); })},
       {"order", print_digest(digest_of(print(program.pipeline.sequence, program.pipeline.shape)))},
       {"rows", fmt::format("{}", rows->size())},
       {"first rows", print_digest(digest_of_rows(rows, config_.training.batch))},
       {"weights", print_digest(digest_of(states_))},
       {"program file", print_digest(digest_of_executable())}});
  return fingerprint;
}

LaunchFingerprint Model::fingerprint_of(const TrainingRun& run, const FitOptions& fit) const {
  LaunchFingerprint fingerprint = fingerprint_of(run.program, run.rows);
  fingerprint.emplace_back("steps of the schedule", fmt::format("{}", run.schedule.steps));
  fingerprint.emplace_back("learning rate", run.learning_rate ? fmt::format("{}", *run.learning_rate) : "scheduled");
  fingerprint.emplace_back("first step", fmt::format("{}", run.info.first_step));
  fingerprint.emplace_back("steps", fmt::format("{}", run.info.steps));
  fingerprint.emplace_back(
      "checkpoint", run.resumed != nullptr ? checksum_of_text(print_manifest(*run.resumed->manifest())) : "none");
  fingerprint.emplace_back("validation rows", fmt::format("{}", fit.validation ? fit.validation->size() : 0));
  fingerprint.emplace_back("test rows", fmt::format("{}", fit.test ? fit.test->size() : 0));
  fingerprint.emplace_back("keeps states", fit.keeps_states ? "yes" : "no");
  return fingerprint;
}

std::string Model::plan_of(const Program& program, const std::vector<Column>& columns) const {
  std::optional<PlanFile> plan = plan_file_of(config_, program, all_ops());
  if (!plan) return "";
  plan->cluster = config_.files.cluster;
  plan->network = network_fingerprint(
      config_, {.network = network_, .columns = columns, .batch = config_.training.batch, .ranks = plan->ranks});
  return print(*plan);
}

ProgramRequest Model::request(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const {
  return {.network = network_,
          .columns = columns,
          .batch = batch,
          .ranks = ranks,
          .purpose = purpose,
          .any_rows = purpose == Purpose::evaluation,
          .own_update = own_update_};
}

Program Model::make_program(const std::vector<Column>& columns, int64_t batch, int64_t ranks, Purpose purpose) const {
  Program program = partita::make_program(config_, request(columns, batch, ranks, purpose));
  if (purpose == Purpose::training) {  // its evaluations would repeat them
    for (const std::string& warning : program.warnings) warn(warning);
  }
  return program;
}

void Model::require_room(const Program& program, int64_t ranks, int64_t copies, const Program* training) const {
  if (config_.force) return;
  const int64_t ranks_here = world_ != nullptr && ranks > 1 ? 1 : ranks;
  require_memory(training != nullptr ? estimate_between_steps(*training, program, ranks_here)
                                     : estimate_memory(program, ranks_here, copies),
                 available_memory());
}

void Model::prepare_states(const Graph& graph, bool makes_them) {
  if (is_spent_ && loaded_path_.empty() && resumed_path_.empty() && states_.empty()) {
    throw InvalidArgument(
        "[model] its states were not kept, got a training before that did not keep them, expected one that does, "
        "or load or resume");
  }
  is_spent_ = false;
  known_states_ = states_of(graph);
  weight_names_ = weight_names(graph);
  if (!makes_them) return loaded_path_.clear();
  add_initial_states(states_, graph, config_.training.seed);
  require_types(states_, graph);
  if (loaded_path_.empty()) return;
  take_weights(states_, graph, weights_in(loaded_path_), loaded_path_);
  loaded_path_.clear();
}

/// Where a checkpoint is, when it is one of this training.
TrainingPosition Model::position_of(const CheckpointReader& reader, const Graph& graph, TrainingPosition now) const {
  TrainingPosition position = reader.manifest()->position;
  require_same_rows(position, now, reader.path());
  require_same_states(*reader.manifest(), graph, reader.path());
  require_same_training(config_, now.metadata, position, reader.path());
  position.metadata = std::move(now.metadata);
  return position;
}

TrainingPosition Model::resumed_position(const Graph& graph, TrainingPosition now) {
  if (resumed_path_.empty()) return now;
  const std::string path = std::exchange(resumed_path_, "");
  const WeightsFile file = read_weights_file(path);
  TrainingPosition position = take_checkpoint(states_, graph, file.tensors, now, path);
  position.metadata = file.metadata;
  require_same_training(config_, now.metadata, position, path);
  position.metadata = std::move(now.metadata);
  return position;
}

/// Which steps a training has that begins with the first.
void Model::plan_steps(TrainingRun& run, const FitOptions& fit) const {
  const int64_t epochs = fit.epochs.value_or(config_.training.epochs);
  const int64_t most_steps = fit.most_steps.value_or(config_.training.steps);
  if (epochs < (fit.epochs ? 1 : 0) || epochs > kMostEpochs || most_steps < 0) {
    throw InvalidArgument(
        fmt::format("[train] bad length, got {} epochs and at most {} steps, expected 1 epoch or "
                    "more, and 0 steps, which means all, or more",
                    epochs, most_steps));
  }
  TrainInfo& info = run.info;
  info.steps_per_epoch = run.rows->size() / run.batch;
  info.steps = training_steps(epochs, most_steps, info.steps_per_epoch);
  info.epochs = (info.steps + info.steps_per_epoch - 1) / info.steps_per_epoch;
  if (run.schedule.steps == 0) run.schedule.steps = info.steps;
}

/// Which of them are left.
void Model::go_on_from(TrainingRun& run, TrainingPosition position) const {
  run.position = std::move(position);
  run.learning_rate = run.position.learning_rate;
  TrainInfo& info = run.info;
  info.first_step = std::min(run.position.step, info.steps);
  run.trace.goes_on = info.first_step > 0;
  if (info.first_step > 0 && info.first_step == info.steps) {
    warn(fmt::format("[resume] nothing left to train: the checkpoint is of step {}, the training has {}",
                     run.position.step, info.steps));
  }
}

std::vector<FoundCheckpoint> Model::resumed_folders() const {
  if (resumed_path_.empty() || !std::filesystem::is_directory(resumed_path_)) return {};
  if (is_checkpoint_folder(resumed_path_)) {
    FoundCheckpoint one{.path = resumed_path_, .manifest = read_manifest(resumed_path_), .damage = ""};
    return {std::move(one)};
  }
  const auto newest = newest_checkpoint(resumed_path_, [this](const std::string& message) { warn(message); });
  if (!newest) {
    throw MissingFile(
        fmt::format("[resume] no whole checkpoint in {}, expected a folder of --checkpoint", resumed_path_));
  }
  std::vector<FoundCheckpoint> found = list_checkpoints(resumed_path_);
  std::erase_if(found, [](const FoundCheckpoint& one) { return !one.manifest; });
  return found;
}

void Model::take_end(TrainingResult&& result, TrainingPosition position) {
  check_finite(result.states, weight_names_);
  result.states.merge(states_);
  states_ = std::move(result.states);
  position_ = std::move(position);
  position_.step = result.step;
  position_.learning_rate = result.learning_rate;
}

/// What this process takes a training to be, but for what depends on where it begins.
TrainingRun Model::make_run(const Program& program, const DatasetPtr& dataset, const FitOptions& fit) {
  TrainingRun run{.program = program,
                  .rows = dataset,
                  .batch = config_.training.batch,
                  .schedule = config_.schedule,
                  .rank = rank_options(),
                  .callbacks = fit.callbacks,
                  .observers = fit.observers,
                  .checkpoints = fit.checkpoints ? &*fit.checkpoints : nullptr,
                  .owner = fit.checkpoints && checkpoints_lock_ ? &*checkpoints_lock_ : nullptr,
                  .signals = fit.signals,
                  .trace = {.path = config_.files.trace,
                            .steps = config_.files.trace_steps,
                            .cluster = config_.files.cluster,
                            .threads = config_.ranks.threads},
                  .measures_communication = !config_.files.log.empty() || config_.console.verbose,
                  .warn = [this](const std::string& message) { warn(message); },
                  .own_process = world_ != nullptr,
                  .keeps_states = fit.keeps_states,
                  .test_progress = fit.test_progress};
  if (fit.checkpoints && writes_files()) run.plan = plan_of(program, dataset->columns());
  return run;
}

Program Model::training_program(const DatasetPtr& dataset) const {
  verify_training(with_stages(config_, network_, dataset->columns()), place_);
  verify_resume_with(config_);
  const int64_t batch = config_.training.batch;
  if (dataset->size() < batch) {
    throw InvalidArgument(
        fmt::format("[train] too few rows, got {}, expected at least one batch of {}", dataset->size(), batch));
  }
  return make_program(dataset->columns(), batch, config_.ranks.count, Purpose::training);
}

TrainingEnd Model::train(const DatasetPtr& dataset, const FitOptions& fit) {
  const std::string loaded_path = loaded_path_, resumed_path = resumed_path_;
  const bool was_spent = is_spent_;
  try {
    return train_program(training_program(dataset), dataset, fit);
  } catch (...) {  // what it was to go on from, it still is
    if (was_spent) {
      spend();
      loaded_path_ = loaded_path;
    }
    resumed_path_ = resumed_path;
    throw;
  }
}

TrainingEnd Model::train_program(const Program& program, const DatasetPtr& given, const FitOptions& fit) {
  const DatasetPtr dataset = checked_ids(given, table_limits(program.graph, all_ops()));
  if (report_) report_(describe_program(program));
  // States that only the seed says are made by the ranks, each its part.
  const bool is_fresh = states_.empty() && loaded_path_.empty() && resumed_path_.empty();
  // Before the newest checkpoint is looked for: an earlier attempt may still be writing one.
  if (fit.checkpoints) hold_checkpoints(fit.checkpoints->folder, /*goes_on=*/!resumed_path_.empty());
  std::vector<FoundCheckpoint> folders = resumed_folders();
  const bool copies_share = fit.checkpoints && fit.checkpoints->asynchronous;
  require_room(program, config_.ranks.count,
               (is_fresh || !folders.empty() ? 0 : 1) + (fit.keeps_states ? 1 : 0) + (copies_share ? 1 : 0));
  prepare_states(program.graph, /*makes_them=*/folders.empty() && !is_fresh);
  std::optional<Evaluation> validation, test;
  if (fit.validation) validation.emplace(make_evaluation(fit.validation, &program));
  if (fit.test && fit.test != fit.validation) test.emplace(make_evaluation(fit.test, &program));
  for (const auto* evaluation : {&validation, &test}) {
    if (report_ && *evaluation) report_(describe_evaluation(program, **evaluation));
  }

  TrainingRun run = make_run(program, dataset, fit);
  run.info.program = &program;
  if (validation) run.validation = &*validation;
  if (fit.test) run.test = test ? &*test : run.validation;
  run.begin = [&](const std::string& name, const Box& box, DType dtype, void* to) {
    if (is_fresh) return fill_initial(program.graph, config_.training.seed, name, box, dtype, to);
    copy_part(states_.at(name).tensor(), box, to);
  };
  TrainingEnd end;
  run.ended = [&](TrainingResult&& result) {
    end = {.step = result.step,
           .stopped_by = result.stopped_by,
           .saved_step = result.saved_step,
           .checkpoint_error = result.checkpoint_error,
           .test = std::nullopt};
    if (fit.keeps_states) take_end(std::move(result), run.position);
    if (fit.ended) fit.ended(end);
  };
  run.tested = [&](const Metrics& metrics) { end.test = metrics; };
  run.save = [&run](const std::string& path, const States& states, const Metadata& boxes, int64_t step,
                    const std::optional<double>& rate) {
    TrainingPosition now = run.position;
    now.step = step;
    now.learning_rate = rate;
    now.metadata.insert(boxes.begin(), boxes.end());
    write_checkpoint(path, states, now);
  };
  try {
    begin_training(run, fit, std::move(folders));
  } catch (...) {
    // Without whole states the model is again what it was.
    if (is_fresh && fit.keeps_states) add_initial_states(states_, program.graph, config_.training.seed);
    if (states_.empty()) known_states_ = {};
    throw;
  }
  if (!fit.keeps_states) spend();
  return end;
}

/// From the newest checkpoint that is whole, where there are some.
void Model::begin_training(TrainingRun& run, const FitOptions& fit, std::vector<FoundCheckpoint> folders) {
  const Program& program = run.program;
  plan_steps(run, fit);
  const TrainingPosition fresh{.batch = run.batch,
                               .rows = run.rows->size(),
                               .seed = config_.training.seed,
                               .metadata = describe_training(config_, program.graph, run.rows, run.schedule.steps)};
  while (true) {
    std::unique_ptr<CheckpointReader> resumed;
    if (!folders.empty()) {
      const FoundCheckpoint& newest = folders.back();
      resumed = std::make_unique<CheckpointReader>(newest.path, std::make_shared<const Manifest>(*newest.manifest));
    }
    run.resumed = resumed.get();
    go_on_from(run, resumed ? position_of(*resumed, program.graph, fresh) : resumed_position(program.graph, fresh));
    const LaunchFingerprint fingerprint = world_ != nullptr ? fingerprint_of(run, fit) : LaunchFingerprint{};
    resumed_path_.clear();
    std::string damage;
    run_on_ranks(place_, config_.ranks.count, config_.ranks.threads, [&](Communicator& comm) {
      if (world_ != nullptr) require_same_fingerprint(fingerprint, comm);
      std::string own = run_training(run, comm);
      if (comm.rank() == 0 || world_ != nullptr) damage = std::move(own);
    });
    if (damage.empty()) return;
    if (folders.size() == 1) throw InvalidFile(damage);
    warn(fmt::format("[checkpoint] {} is not used: {}", folders.back().path, damage));
    folders.pop_back();
  }
}

/// Its states were not kept.
void Model::spend() {
  states_.clear();
  known_states_ = {};
  position_ = {};
  is_spent_ = true;
}

/// What the network ignores or, where its loss is a function, what the configuration says.
std::optional<int64_t> Model::ignored_label() const {
  const std::optional<int64_t> own = network_.loss_options().ignore_index;
  return own ? own : config_.training.ignore_index;
}

Evaluation Model::make_evaluation(const DatasetPtr& dataset, const Program* training, int64_t most_rows) const {
  const EvaluationOptions evaluation{.ranks = config_.ranks.count,
                                     .most_rows = most_rows,
                                     .top = config_.evaluation.top,
                                     .ignored_label = ignored_label()};
  ProgramRequest part = request(dataset->columns(), 1, config_.ranks.count, Purpose::evaluation);
  part.training = training;
  const auto build = [&](int64_t rows) {
    part.batch = rows;
    return build_evaluation(config_, part);
  };
  const auto compile = [&](const Graph& of_batch, int64_t rows) {
    part.batch = rows;
    part.graph = &of_batch;
    return partita::make_program(config_, part);
  };
  return Evaluation(dataset, evaluation, {.build = build, .compile = compile});
}

Evaluation Model::make_fitting_evaluation(const DatasetPtr& dataset, const Program* training) const {
  const int64_t least = std::max<int64_t>(1, config_.training.batch / config_.plan.options.micro_batches);
  std::optional<Evaluation> made;
  try {
    made.emplace(make_evaluation(dataset, training, least));
  } catch (const InvalidArgument&) {  // it may need all rows at once
    if (dataset->size() <= least || dataset->size() > kLargeEvaluationBatch) throw;
    try {
      return make_evaluation(dataset, training, dataset->size());
    } catch (const std::exception&) {  // nor does it take all of them
    }
    throw;
  }
  if (made->batch() >= std::min(dataset->size(), kLargeEvaluationBatch)) return std::move(*made);
  // A large batch runs faster; it takes no more memory than a training, which has at least gradients besides.
  const int64_t states = largest_states(training != nullptr ? *training : made->program());
  const int64_t used = largest_arena_of(*made, training) - states;
  const int64_t room = training != nullptr ? largest_arena(*training) - states : std::max(used, kFreeBytes);
  const int64_t rows = std::min(kLargeEvaluationBatch, room / std::max<int64_t>(1, used / made->batch()));
  if (rows <= made->batch()) return std::move(*made);
  try {
    Evaluation larger = make_evaluation(dataset, training, rows);
    const bool has_same_states = state_types(larger.graph()) == state_types(made->graph());
    if (has_same_states && largest_arena_of(larger, training) - states <= room) return larger;
  } catch (const std::exception&) {  // a network may take the rows of its training alone
  }
  return std::move(*made);
}

Evaluation Model::make_evaluation(const DatasetPtr& rows, const Program* training) const {
  const int64_t given = config_.evaluation.batch;
  const auto limits = [&] {
    if (training != nullptr) return table_limits(training->graph, all_ops());
    // Of a number of rows that the network takes, if it takes one alone.
    const int64_t batch = std::min(rows->size(), given > 0 ? given : config_.training.batch);
    return table_limits(build_evaluation(config_, request(rows->columns(), std::max<int64_t>(1, batch),
                                                          config_.ranks.count, Purpose::evaluation)),
                        all_ops());
  };
  const DatasetPtr dataset = checked_ids(rows, limits());
  Evaluation made = given > 0 ? make_evaluation(dataset, training, given) : make_fitting_evaluation(dataset, training);
  for (const Program* program : made.programs()) {
    // Within a training the ranks have the states.
    require_room(*program, config_.ranks.count, training != nullptr ? 0 : kCopiesOfStates, training);
  }
  return made;
}

Metrics Model::eval(const DatasetPtr& dataset, const EvaluationProgress& progress) {
  const Evaluation evaluation = make_evaluation(dataset);
  prepare_states(evaluation.graph());
  Metrics metrics;
  const bool processes = world_ != nullptr && evaluation.ranks() > 1;
  const LaunchFingerprint fingerprint = processes ? fingerprint_of(evaluation.program(), dataset) : LaunchFingerprint{};
  run_on_ranks(place_, evaluation.ranks(), config_.ranks.threads, [&](Communicator& comm) {
    if (processes) require_same_fingerprint(fingerprint, comm);
    const Metrics found = evaluation.run(states_, rank_options(), comm, comm.rank() == 0 ? progress : nullptr);
    check_finite(found);
    if (comm.rank() == 0 || processes) metrics = found;
  });
  return metrics;
}

Array Model::predict(const Array& inputs) {
  const NamedArrays outputs = predict({{"image", inputs}});
  for (const auto& [name, array] : outputs) {
    if (name == "logits") return array;
  }
  throw InvalidArgument("[predict] the network has no output 'logits', expected predict with named columns",
                        ErrorKind::key);
}

NamedArrays Model::predict(const NamedArrays& columns) {
  std::vector<Column> rows;
  int64_t count = 0;
  for (const auto& [name, array] : columns) {
    const Shape& shape = array.shape();
    if (shape.empty()) {
      throw InvalidArgument(
          fmt::format("[predict] no batch of inputs, got {}, expected [rows,..]", print(array.type())));
    }
    count = shape[0];
    rows.push_back({name, {array.type().dtype, Shape(shape.begin() + 1, shape.end())}});
  }
  return predictor(rows, count)(columns);
}

std::function<NamedArrays(const NamedArrays&)> Model::predictor(const std::vector<Column>& columns, int64_t rows) {
  struct Predictor {
    Program program;
    std::vector<std::unique_ptr<Communicator>> world = make_inproc_world(1);
    std::optional<RankRun> rank;
  };
  const auto predictor = std::make_shared<Predictor>();
  predictor->program = make_program(columns, rows, /*ranks=*/1, Purpose::prediction);
  require_room(predictor->program, /*ranks=*/1, kCopiesOfStates);
  prepare_states(predictor->program.graph);
  predictor->rank.emplace(predictor->program, states_, rank_options(), *predictor->world[0]);
  return [predictor](const NamedArrays& batch) {
    Executor& executor = predictor->rank->executor();
    for (const Input& input : predictor->program.graph.inputs) {
      const std::string& name = predictor->program.graph.values[static_cast<size_t>(input.value)].name;
      const auto given = std::find_if(batch.begin(), batch.end(), [&](const auto& c) { return c.first == name; });
      if (given == batch.end()) {
        throw InvalidArgument(
            fmt::format("[predict] column '{}' is missing, expected it among {} given", name, batch.size()),
            ErrorKind::key);
      }
      executor.set_input(name, given->second.tensor());
    }
    executor.run();
    NamedArrays outputs;
    for (const Output& output : predictor->program.graph.outputs) {
      outputs.emplace_back(output.name, executor.output(output.name));
    }
    return outputs;
  };
}

}  // namespace partita
