#include "train/model.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "comm/inproc/inproc.h"
#include "comm/run_ranks.h"
#include "data/prefetch.h"
#include "data/views/skip.h"
#include "data/views/take.h"
#include "execute/executor.h"
#include "network/build_graph.h"
#include "ops/registry.h"
#include "train/metrics.h"
#include "train/weights.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The column that a network reads: the first that is not the label.
Column input_column(const Dataset& dataset) {
  const auto& columns = dataset.columns();
  const auto found = std::find_if(columns.begin(), columns.end(), [](const Column& c) { return c.name != "label"; });
  if (found == columns.end()) throw InvalidArgument("[data] no column to read, got label alone, expected an input");
  return *found;
}

Type label_type(const Dataset& dataset) { return dataset.columns()[find_column(dataset, "label")].type; }

/// Rows per batch of an evaluation: at most `most`, a multiple of the ranks; one that leaves no rest
/// when there is one that is not much smaller. 0 when there are fewer rows than ranks.
int64_t choose_eval_batch(int64_t rows, int64_t ranks, int64_t most) {
  const int64_t largest = std::min(std::max(most, ranks), rows) / ranks * ranks;
  for (int64_t batch = largest; batch > largest / 4; batch -= ranks) {
    if (rows % batch == 0) return batch;
  }
  return largest;
}

}  // namespace

/// One rank of a run: its device and executor, bound to the program that all ranks share.
struct Model::Rank {
  Rank(const Model& model, const Program& rank_program, Communicator& communicator)
      : program(rank_program),
        comm(communicator),
        device(make_cpu_device(all_ops(), model.options_.threads, model.options_.kernels)) {
    device->enter_thread();
    executor.emplace(program.local, program.schedule, all_ops(), *device, comm);
    for (const State& state : program.graph.states) {
      const std::string& name = program.graph.values[static_cast<size_t>(state.entry)].name;
      executor->set_state(name, model.states_.at(name));
    }
  }

  void feed(const Batch& batch) {
    for (size_t i = 0; i < batch.columns.size(); ++i) {
      if (is_input(batch.columns[i].name)) executor->set_input(batch.columns[i].name, batch.arrays[i].tensor());
    }
  }
  void feed_learning_rate(double rate) {
    Array value(executor->input_type("learning_rate"));
    value.set(0, rate);
    executor->set_input("learning_rate", value.tensor());
  }
  /// This rank's rows of every global batch; where the batch is not cut, all of them.
  Batcher rows(const DatasetPtr& dataset, int64_t batch) const {
    const bool cut = executor->input_type(input_column(*dataset).name).shape.at(0) != batch;
    return Batcher(dataset, {.batch = batch, .rank = cut ? comm.rank() : 0, .ranks = cut ? comm.size() : 1});
  }
  bool is_input(const std::string& name) const {
    const Graph& graph = program.graph;
    return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                       [&](const Input& input) { return graph.values[static_cast<size_t>(input.value)].name == name; });
  }

  const Program& program;
  Communicator& comm;
  std::unique_ptr<Device> device;
  std::optional<Executor> executor;
};

Model::Model(Network network, std::string loss, OptimizerOptions optimizer, ModelOptions options)
    : network_(std::move(network)),
      loss_(std::move(loss)),
      optimizer_(std::move(optimizer)),
      options_(std::move(options)) {
  verify(options_.schedule, options_.dtype);
}

void Model::load(const std::string& path) { loaded_path_ = path; }

void Model::save(const std::string& path) const {
  check_finite(states_, weight_names_);
  std::vector<std::pair<std::string, Array>> weights;
  for (const std::string& name : weight_names_) weights.emplace_back(name, states_.at(name));
  save_weights(path, weights);
}

void Model::on_ranks(int ranks, const std::function<void(Communicator&)>& fn) const {
  if (ranks > 1) return run_ranks(ranks, fn);
  // One rank needs no other thread.
  const auto world = make_inproc_world(1);
  fn(*world[0]);
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
  // The loss of an evaluation is of no use: compile leaves it out.
  if (!training) std::erase_if(graph.outputs, [](const Output& output) { return output.name == "loss"; });
  const Mesh mesh = ranks > 1 ? Mesh({{"data", ranks}}) : Mesh();

  CompileOptions compiling;
  compiling.plan.parallel = ranks > 1 ? options_.parallel : "none";
  if (training) {
    compiling.training = TrainingOptions{.optimizer = optimizer_};
    if (options_.sum_gradients) compiling.training->gradient_factor = ranks;
    compiling.passes = options_.passes;
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
  add_initial_states(states_, graph, options_.seed);
  weight_names_ = weight_names(graph);
  if (loaded_path_.empty()) return;
  take_weights(states_, graph, load_weights(loaded_path_), loaded_path_);
  loaded_path_.clear();
}

void Model::check_training(const Dataset& dataset) const {
  const int64_t batch = options_.batch, ranks = options_.ranks;
  if (options_.parallel == "data" && batch % ranks != 0) {
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

void Model::train(const DatasetPtr& dataset, int64_t epochs, const std::vector<Callback*>& callbacks,
                  int64_t most_steps) {
  check_training(*dataset);
  const Program program =
      make_program(input_column(*dataset), label_type(*dataset), options_.batch, options_.ranks, /*training=*/true);
  prepare_states(program.graph);

  TrainInfo train{.epochs = epochs, .steps_per_epoch = dataset->size() / options_.batch};
  const int64_t all_steps = epochs * train.steps_per_epoch;
  const int64_t steps = most_steps > 0 ? std::min(most_steps, all_steps) : all_steps;
  LrSchedule schedule = options_.schedule;
  if (schedule.steps == 0) schedule.steps = steps;
  const auto tell = [&](const Communicator& comm, const auto& event) {
    if (comm.rank() != 0) return;
    for (Callback* callback : callbacks) event(*callback);
  };

  States trained;
  on_ranks(options_.ranks, [&](Communicator& comm) {
    Rank rank(*this, program, comm);
    Prefetcher rows(rank.rows(dataset, options_.batch), PrefetchOptions{});
    tell(comm, [&](Callback& callback) { callback.on_train_begin(train); });
    Clock::time_point epoch_begin = Clock::now();
    for (int64_t step = 0; step < steps; ++step) {
      const auto begin = Clock::now();
      const double learning_rate = learning_rate_at(schedule, step);
      rank.feed(rows.next());
      rank.feed_learning_rate(learning_rate);
      rank.executor->step();
      StepInfo info{.epoch = step / train.steps_per_epoch + 1,
                    .step = step % train.steps_per_epoch + 1,
                    .global_step = step + 1,
                    .samples = options_.batch,
                    .learning_rate = learning_rate};
      if (comm.rank() == 0) info.loss = rank.executor->output("loss").at(0);
      info.seconds = seconds_since(begin);
      tell(comm, [&](Callback& callback) { callback.on_step_end(info); });
      if (info.step != train.steps_per_epoch && step + 1 != steps) continue;
      const EpochInfo epoch{.epoch = info.epoch, .steps = info.step, .seconds = seconds_since(epoch_begin)};
      tell(comm, [&](Callback& callback) { callback.on_epoch_end(epoch); });
      epoch_begin = Clock::now();
    }
    for (const State& state : program.graph.states) {
      const std::string& name = program.graph.values[static_cast<size_t>(state.entry)].name;
      Array value = rank.executor->state(name);
      if (comm.rank() == 0) trained[name] = std::move(value);
    }
    tell(comm, [&](Callback& callback) { callback.on_train_end(); });
  });
  check_finite(trained, weight_names_);
  trained.merge(states_);
  states_ = std::move(trained);
}

Accuracy Model::eval(const DatasetPtr& dataset) {
  if (dataset->size() == 0) throw InvalidArgument("[eval] no rows, got 0, expected at least 1");
  const int64_t rows = dataset->size();
  const int ranks = options_.parallel == "data" ? options_.ranks : 1;
  const int64_t most = options_.eval_batch > 0 ? options_.eval_batch : std::max<int64_t>(options_.batch, 256);
  const int64_t batch = choose_eval_batch(rows, ranks, most);
  const int64_t whole = batch > 0 ? rows / batch * batch : 0;
  int64_t correct = 0;
  if (whole > 0) correct += count_correct_rows(take(dataset, whole), batch, ranks);
  if (whole < rows) correct += count_correct_rows(skip(dataset, whole), rows - whole, /*ranks=*/1);
  return {correct, rows * elements(label_type(*dataset).shape)};
}

int64_t Model::count_correct_rows(const DatasetPtr& dataset, int64_t batch, int ranks) {
  const Program program = make_program(input_column(*dataset), label_type(*dataset), batch, ranks, /*training=*/false);
  prepare_states(program.graph);
  int64_t correct = 0;
  on_ranks(ranks, [&](Communicator& comm) {
    Rank rank(*this, program, comm);
    const Batcher rows = rank.rows(dataset, batch);
    const size_t label = find_column(*dataset, "label");
    int64_t right = 0;
    for (int64_t i = 0; i < rows.batches(); ++i) {
      const Batch batch_rows = rows.batch(/*epoch=*/0, i);
      rank.feed(batch_rows);
      rank.executor->run();
      right += count_correct(rank.executor->output("logits").tensor(), batch_rows.arrays[label].tensor());
    }
    comm.all_reduce(&right, 1, DType::i64, Reduce::sum);
    if (comm.rank() == 0) correct = right;
  });
  return correct;
}

Array Model::predict(const Array& inputs, const std::string& name) { return predictor(inputs.type(), name)(inputs); }

std::function<Array(const Array&)> Model::predictor(const Type& inputs, const std::string& name) {
  const Column input{name, {inputs.dtype, Shape(inputs.shape.begin() + 1, inputs.shape.end())}};
  const Type label{DType::i32, is_float(inputs.dtype) ? Shape{} : input.type.shape};

  struct Held {
    Program program;
    std::vector<std::unique_ptr<Communicator>> world = make_inproc_world(1);
    std::optional<Rank> rank;
  };
  const auto held = std::make_shared<Held>();
  held->program = make_program(input, label, inputs.shape.at(0), /*ranks=*/1, /*training=*/false);
  prepare_states(held->program.graph);
  held->rank.emplace(*this, held->program, *held->world[0]);
  return [held, name](const Array& batch) {
    held->rank->executor->set_input(name, batch.tensor());
    held->rank->executor->run();
    return held->rank->executor->output("logits");
  };
}

}  // namespace partita
