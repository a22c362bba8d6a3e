#include "train/model.h"

#include <algorithm>

#include "comm/inproc/inproc.h"
#include "comm/run_ranks.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "train/run_process.h"
#include "train/training_run.h"
#include "train/weights.h"

namespace partita {

Model::Model(Network network, std::string loss, OptimizerOptions optimizer, ModelOptions options)
    : network_(std::move(network)),
      loss_(std::move(loss)),
      optimizer_(std::move(optimizer)),
      options_(std::move(options)) {
  verify(options_.schedule, options_.dtype);
}

void Model::load(const std::string& path) {
  if (known_states_.states.empty()) {
    loaded_path_ = path;
    return;
  }
  take_weights(states_, known_states_, load_weights(path), path);
  loaded_path_.clear();
}

void Model::require_states() const {
  if (!known_states_.states.empty() && loaded_path_.empty()) return;
  const std::string got =
      loaded_path_.empty() ? "a model that was only made" : fmt::format("weights of {} that wait", loaded_path_);
  throw InvalidArgument(
      fmt::format("[save] no weights to save, got {}, expected a training, an evaluation or a prediction before", got));
}

void Model::save(const std::string& path) const {
  require_states();
  check_finite(states_, weight_names_);
  if (!writes_files()) return;
  std::vector<std::pair<std::string, Array>> weights;
  for (const std::string& name : weight_names_) weights.emplace_back(name, states_.at(name));
  save_weights(path, weights);
}

void Model::save_checkpoint(const std::string& path) const {
  require_states();
  if (position_.batch == 0) {
    throw InvalidArgument("[save] no training to go on with, got a model without one, expected a training before");
  }
  check_finite(states_, weight_names_);
  if (writes_files()) write_checkpoint(path, states_, position_);
}

void Model::on_ranks(int ranks, const std::function<void(Communicator&)>& fn) const {
  if (ranks > 1 && options_.world != nullptr) return run_process(*options_.world, fn);
  if (ranks > 1) return run_ranks(ranks, fn);
  // One rank needs no other thread.
  const auto world = make_inproc_world(1);
  fn(*world[0]);
}

Facts Model::facts_of(const Program& program, const DatasetPtr& rows, int64_t batch) const {
  uint64_t weights = 0;
  for (const auto& [name, array] : states_) weights = digest_of(array, digest_of(name, weights));
  uint64_t first = 0;
  for (const Array& column : Batcher(rows, {.batch = std::min(batch, rows->size())}).batch(0, 0).arrays) {
    first = digest_of(column, first);
  }
  return {{"ranks", fmt::format("{}", program.plan.mesh.ranks())},
          {"graph", print_digest(digest_of(print(program.graph)))},
          {"plan", print_digest(digest_of(print(program.plan, program.graph, all_ops())))},
          {"local graph", print_digest(digest_of(print(program.local, all_ops())))},
          {"kernels", options_.kernels == KernelSet::fast ? "fast" : "reference"},
          {"seed", fmt::format("{}", options_.seed)},
          {"batch", fmt::format("{}", batch)},
          {"rows", fmt::format("{}", rows->size())},
          {"first rows", print_digest(first)},
          {"weights", print_digest(weights)}};
}

Facts Model::facts_of(const TrainingRun& run, const FitOptions& fit) const {
  Facts facts = facts_of(run.program, run.rows, run.batch);
  const LrSchedule& schedule = run.schedule;
  facts.emplace_back("schedule", fmt::format("{} {} {} {}", schedule.kind, schedule.learning_rate,
                                             schedule.warmup_steps, schedule.steps));
  facts.emplace_back("learning rate", run.learning_rate ? fmt::format("{}", *run.learning_rate) : "scheduled");
  facts.emplace_back("first step", fmt::format("{}", run.info.first_step));
  facts.emplace_back("steps", fmt::format("{}", run.info.steps));
  facts.emplace_back("validation rows", fmt::format("{}", fit.validation ? fit.validation->size() : 0));
  facts.emplace_back("rows of an evaluation", fmt::format("{}", options_.eval_batch));
  return facts;
}

Program Model::make_program(const Column& input, const Type& label, int64_t batch, int ranks, bool training) const {
  const bool local_norms = training && options_.local_statistics;
  const BuildOptions build{.batch = batch,
                           .input = input.name,
                           .image = input.type.shape,
                           .dtype = options_.dtype,
                           .training = training,
                           .loss = loss_,
                           .norm_groups = local_norms ? ranks : 1,
                           .seed = options_.seed,
                           .image_dtype = is_float(input.type.dtype) ? options_.dtype : input.type.dtype,
                           .label = label};
  Graph graph = build_graph(network_, all_ops(), build);
  for (const NodeMark& mark : options_.marks) mark_nodes(graph, mark);

  CompileOptions compiling;
  compiling.plan = options_.plan;
  if (ranks == 1) compiling.plan.parallel = "none";
  const Mesh mesh = make_mesh(graph, ranks, compiling.plan);
  if (training) {
    compiling.training = TrainingOptions{.optimizer = optimizer_};
    if (options_.sum_gradients) compiling.training->gradient_factor = ranks;
    compiling.passes = options_.passes;
  } else {
    compiling.own_plan = [&](const Graph& forward) {
      return with_logits_in_rows(make_plan(forward, all_ops(), mesh, compiling.plan), forward, all_ops());
    };
  }
  const auto device = make_cpu_device(all_ops(), options_.threads, options_.kernels);
  device->enter_thread();
  Program program = compile(graph, all_ops(), mesh, device->catalog(), compiling);
  if (options_.warn) {
    for (const std::string& warning : program.warnings) options_.warn(warning);
  }
  return program;
}

void Model::prepare_states(const Graph& graph) {
  known_states_ = states_of(graph);
  add_initial_states(states_, graph, options_.seed);
  weight_names_ = weight_names(graph);
  if (loaded_path_.empty()) return;
  take_weights(states_, graph, load_weights(loaded_path_), loaded_path_);
  loaded_path_.clear();
}

void Model::check_training(const Dataset& dataset, const FitOptions& fit) const {
  if (fit.epochs < 1 || fit.epochs > kMostEpochs || fit.most_steps < 0) {
    throw InvalidArgument(
        fmt::format("[train] bad length, got {} epochs and at most {} steps, expected 1 epoch or "
                    "more, and 0 steps, which means all, or more",
                    fit.epochs, fit.most_steps));
  }
  const int64_t batch = options_.batch, ranks = options_.ranks;
  if (options_.plan.parallel == "data" && batch % ranks != 0) {
    const int64_t below = batch / ranks * ranks;
    const std::string nearest = below > 0 ? fmt::format("{} or {}", below, below + ranks) : fmt::format("{}", ranks);
    throw InvalidArgument(
        fmt::format("[train] the global batch does not divide, got batch {} on {} ranks, expected a multiple of {}: {}",
                    batch, ranks, ranks, nearest));
  }
  if (dataset.size() < batch) {
    throw InvalidArgument(
        fmt::format("[train] too few rows, got {}, expected at least one batch of {}", dataset.size(), batch));
  }
}

void Model::train(const DatasetPtr& dataset, const FitOptions& fit) {
  check_training(*dataset, fit);
  const Program program =
      make_program(input_column(*dataset), label_type(*dataset), options_.batch, options_.ranks, /*training=*/true);
  require_columns(program.graph, *dataset);
  prepare_states(program.graph);
  std::optional<Evaluation> validation;
  if (fit.validation) validation = make_evaluation(fit.validation, Metrics().top);

  TrainingPosition position{.batch = options_.batch, .rows = dataset->size(), .seed = options_.seed};
  if (!resumed_path_.empty()) {
    position = take_checkpoint(states_, program.graph, load_weights(resumed_path_), position, resumed_path_);
    resumed_path_.clear();
  }
  TrainingRun run{.program = program,
                  .rows = dataset,
                  .batch = options_.batch,
                  .schedule = options_.schedule,
                  .rank = rank_options(),
                  .callbacks = fit.callbacks,
                  .validation = validation ? &*validation : nullptr,
                  .learning_rate = position.learning_rate,
                  .own_process = options_.world != nullptr};
  run.info.steps_per_epoch = dataset->size() / options_.batch;
  run.info.steps = fit.epochs * run.info.steps_per_epoch;
  if (fit.most_steps > 0) run.info.steps = std::min(fit.most_steps, run.info.steps);
  run.info.epochs = (run.info.steps + run.info.steps_per_epoch - 1) / run.info.steps_per_epoch;
  run.info.first_step = std::min(position.step, run.info.steps);
  if (run.schedule.steps == 0) run.schedule.steps = run.info.steps;
  run.save = [&](const std::string& path, const States& states, int64_t step, const std::optional<double>& rate) {
    position.step = step;
    position.learning_rate = rate;
    write_checkpoint(path, states, position);
  };
  if (run.info.first_step > 0 && run.info.first_step == run.info.steps && options_.warn) {
    options_.warn(fmt::format("[resume] nothing left to train: the checkpoint is of step {}, the training has {}",
                              position.step, run.info.steps));
  }

  const Facts facts = options_.world != nullptr ? facts_of(run, fit) : Facts{};
  TrainingResult result;
  on_ranks(options_.ranks, [&](Communicator& comm) {
    if (options_.world != nullptr) require_agreement(facts, comm);
    TrainingResult own = run_training(run, states_, comm);
    if (comm.rank() == 0 || options_.world != nullptr) result = std::move(own);
  });
  check_finite(result.states, weight_names_);
  result.states.merge(states_);
  states_ = std::move(result.states);
  position_ = position;
  position_.step = result.step;
  position_.learning_rate = result.learning_rate;
}

Evaluation Model::make_evaluation(const DatasetPtr& dataset, int64_t top) const {
  const EvaluationOptions evaluation{
      .ranks = options_.plan.parallel == "data" ? options_.ranks : 1,
      .most_rows = options_.eval_batch > 0 ? options_.eval_batch : std::max<int64_t>(options_.batch, 256),
      .top = top};
  return Evaluation(dataset, evaluation, [&](int64_t batch, int ranks) {
    return make_program(input_column(*dataset), label_type(*dataset), batch, ranks, /*training=*/false);
  });
}

Metrics Model::eval(const DatasetPtr& dataset, int64_t top) {
  const Evaluation evaluation = make_evaluation(dataset, top);
  prepare_states(evaluation.graph());
  Metrics metrics;
  const bool processes = options_.world != nullptr && evaluation.ranks() > 1;
  const Facts facts = processes ? facts_of(evaluation.program(), dataset, options_.batch) : Facts{};
  on_ranks(evaluation.ranks(), [&](Communicator& comm) {
    if (processes) require_agreement(facts, comm);
    const Metrics found = evaluation.run(states_, rank_options(), comm);
    if (comm.rank() == 0) metrics = found;
  });
  return metrics;
}

Array Model::predict(const Array& inputs, const std::string& name) { return predictor(inputs.type(), name)(inputs); }

std::function<Array(const Array&)> Model::predictor(const Type& inputs, const std::string& name) {
  if (inputs.shape.empty()) {
    throw InvalidArgument(fmt::format("[predict] no batch of inputs, got {}, expected [rows,..]", print(inputs)));
  }
  const Column input{name, {inputs.dtype, Shape(inputs.shape.begin() + 1, inputs.shape.end())}};
  const Type label{DType::i32, is_float(inputs.dtype) ? Shape{} : input.type.shape};

  struct Held {
    Program program;
    std::vector<std::unique_ptr<Communicator>> world = make_inproc_world(1);
    std::optional<RankRun> rank;
  };
  const auto held = std::make_shared<Held>();
  held->program = make_program(input, label, inputs.shape.at(0), /*ranks=*/1, /*training=*/false);
  prepare_states(held->program.graph);
  held->rank.emplace(held->program, states_, rank_options(), *held->world[0]);
  return [held, name](const Array& batch) {
    held->rank->executor().set_input(name, batch.tensor());
    held->rank->executor().run();
    return held->rank->executor().output("logits");
  };
}

}  // namespace partita
