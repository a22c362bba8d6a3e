#include "support/job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/philox.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "ir/sharding/micro.h"
#include "runtime/device/xla/xla_device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/shard_copy.h"
#include "support/ranks.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// Sets the inputs of a step, or those of the next one.
void feed(Executor& executor, const Arrays& batch, bool is_next = false) {
  for (const auto& stage : executor.stages()) {
    const LocalGraph& local = stage->local();
    for (const Input& input : local.graph.inputs) {
      if (input.from_stage >= 0) continue;
      const std::string& name = local.graph.values[input.value].name;
      const Sharding& sharding = local.shardings[input.value];
      const bool is_cut = !micro_sharding(sharding, local.mesh).whole();
      for (int64_t m = 0; m < (is_cut ? local.mesh.micro_batches() : 1); ++m) {
        std::vector<int64_t> coordinates = stage->coordinates();
        if (is_cut) coordinates[static_cast<size_t>(local.mesh.micro_axis())] = m;
        const Box part = local_ranges(local.graph.type(input.value), sharding, local.mesh, coordinates);
        if (is_next) {
          stage->set_next_input(name, batch.at(name).tensor(), part);
        } else {
          stage->set_input(name, batch.at(name).tensor(), part, m);
        }
      }
    }
  }
}

Arrays batch_of(const Job& job, const Graph& graph, int step) {
  Arrays batch = job.batch(step);
  const Type rate = graph.type(graph.input("learning_rate"));
  Array value(rate);
  value.set(0, job.learning_rate);
  batch.insert_or_assign("learning_rate", std::move(value));
  return batch;
}

Arrays with_optimizer_states(const Graph& graph, Arrays states) {
  for (const State& state : graph.states) {
    states.try_emplace(graph.values[state.entry].name, make_initial(state.init, graph.type(state.entry), /*key=*/0));
  }
  return states;
}

std::unique_ptr<Device> device_of(const Job& job, int rank) {
  if (job.device) return job.device(job.threads, job.kernels);
  return make_device(all_ops(), {.name = job.device_name,
                                 .index = rank,
                                 .threads = job.threads,
                                 .kernels = job.kernels,
                                 .collectives = job.collectives});
}

/// Trains as one of the ranks; returns the states at the end.
Arrays train(const Job& job, const Program& program, const Arrays& states, Communicator& world, JobResult& seen) {
  const Graph& graph = program.graph;
  const auto device = device_of(job, world.rank());
  Executor executor(program.pipeline, program.stages, all_ops(), *device, world);
  for (const State& state : graph.states) {
    const std::string& name = graph.values[state.entry].name;
    executor.set_state(name, states.at(name));
  }
  if (job.begin) job.begin(program, executor, world);
  // Plugins get the inputs of a step while they compute the one before.
  const bool feeds_ahead = job.device == nullptr && executor.can_set_next_inputs();
  bool is_fed = false;
  for (int step = 0; step < job.steps; ++step) {
    const int number = job.first_step + step;
    if (!is_fed || !executor.use_next_inputs()) feed(executor, batch_of(job, graph, number));
    is_fed = false;
    std::function<void()> meanwhile;
    if (feeds_ahead && step + 1 < job.steps) {
      meanwhile = [&] {
        feed(executor, batch_of(job, graph, number + 1), /*is_next=*/true);
        is_fed = true;
      };
    }
    executor.step(meanwhile);
    seen.losses.push_back(executor.output("loss").at(0));
    if (step > 0) continue;
    for (const Output& output : graph.outputs) {
      if (output.name == "logits") seen.logits = executor.output("logits");
      if (output.name.starts_with("d_")) seen.gradients.emplace(output.name, executor.output(output.name));
    }
  }
  if (job.end) job.end(program, executor, world);
  Arrays end;
  for (const State& state : graph.states) {
    const std::string& name = graph.values[state.entry].name;
    end.emplace(name, executor.state(name));
  }
  return end;
}

Array labels_of_model(const Type& type, uint64_t key, int64_t below, std::optional<int64_t> ignored) {
  Array labels = random_array(type, key, below);
  const int64_t rows = type.shape[0], per_row = type.elements() / rows;
  for (int64_t i = 0; i < type.elements() && ignored; ++i) {
    const int64_t row = i / per_row;
    const auto draw = static_cast<int64_t>(random_below(key, i, 1, static_cast<uint64_t>(rows)));
    if (row < rows / 3 || draw >= row) labels.set(i, static_cast<double>(*ignored));
  }
  return labels;
}

/// Processes that were none of the ranks have no results of their own.
void share_results(JobResult& result) {
  if (!ranks_are_processes()) return;
  const Graph& graph = result.program.graph;
  share(result.losses);
  for (const Output& output : graph.outputs) {
    if (output.name == "logits") share(result.logits);
    if (output.name.starts_with("d_")) share(result.gradients[output.name]);
  }
  for (const State& state : graph.states) share(result.states[graph.values[state.entry].name]);
}

/// Whole columns of normal floats and integers below 10, and below what labels and positions may be. Every rank gets a
/// copy of what the first one that asks for a step draws.
std::function<Arrays(int)> random_batches(const Graph& forward, const std::vector<Column>& columns, int64_t classes,
                                          std::optional<int64_t> ignored) {
  struct Drawn {
    std::mutex mutex;
    std::map<int, Arrays> batches;  // by step
  };
  std::map<std::string, Type> types;
  for (const Column& column : columns) types.emplace(column.name, forward.type(forward.input(column.name)));
  return [types, classes, ignored, first = columns.at(0), drawn = std::make_shared<Drawn>()](int step) {
    const std::lock_guard lock(drawn->mutex);
    const auto [found, is_new] = drawn->batches.try_emplace(step);
    Arrays& batch = found->second;
    if (!is_new) return batch;
    for (const auto& [name, type] : types) {
      int64_t below = 10;
      if (name == "label") below = std::min(below, classes);
      if (name == "positions") below = std::min(below, first.type.shape.at(0));
      const uint64_t key = random_key(step, name == first.name ? "image" : name);
      batch.emplace(name,
                    name == "label" ? labels_of_model(type, key, below, ignored) : random_array(type, key, below));
    }
    return batch;
  };
}

}  // namespace

std::string tested_device() {
  const char* name = std::getenv("PARTITA_TEST_DEVICE");
  return name != nullptr ? name : "cpu";
}

Job model_job(const std::string& spec, const TestedJob& options) {
  const ZooModel model = make_model(spec);
  std::vector<Column> columns = model.columns(options.dtype);
  if (model.own_rows == nullptr && model.rows.is_images()) columns.at(0).type.shape = options.image;
  Job job;
  job.forward =
      build_graph(model.network(model.recipe.training.loss, {.ignore_index = options.ignore_index}), all_ops(),
                  {.batch = options.batch,
                   .columns = columns,
                   .dtype = options.dtype,
                   .statistics_groups = options.statistics_groups});
  job.training.optimizer = model.recipe.optimizer;
  job.training.output_gradients = true;
  job.states = initial_states(job.forward, /*seed=*/7);
  job.steps = options.steps;
  job.learning_rate = options.learning_rate;
  job.kernels = options.dtype == DType::f64 ? KernelSet::reference : KernelSet::fast;
  job.batch = random_batches(job.forward, columns, model.rows.classes, options.ignore_index);
  return job;
}

Program compile_job(const Job& job) {
  const auto catalog_device = device_of(job, /*rank=*/0);
  catalog_device->enter_thread();  // kernels ask for scratch memory by the threads of the one that asks them
  Mesh mesh = job.mesh;
  if (mesh.ranks() == 1 && job.ranks > 1) mesh = Mesh({{"data", job.ranks}});
  std::function<Plan(const Graph&, int64_t)> own_plan = job.stage_plan;
  if (job.plan) own_plan = [&](const Graph& graph, int64_t) { return job.plan(graph); };
  return compile(job.forward, all_ops(), catalog_device->catalog(),
                 {.ranks = job.ranks,
                  .mesh = mesh,
                  .plan = {.micro_batches = job.micro_batches, .zero = job.zero, .pipeline = job.pipeline},
                  .own_plan = own_plan,
                  .schedule = job.schedule,
                  .training = job.training,
                  .passes = {.switched_off = job.switched_off}});
}

JobResult run_job(const Job& job) { return run_job(job, compile_job(job)); }

JobResult run_job(const Job& job, Program program) {
  JobResult result;
  result.program = std::move(program);
  const Arrays states = with_optimizer_states(result.program.graph, job.states);
  std::vector<Arrays> of_rank(job.ranks);
  std::vector<JobResult> seen(job.ranks);
  on_ranks(job.ranks, [&](Communicator& world) {
    const std::unique_ptr<Communicator> wrapped = job.wrap ? job.wrap(world) : nullptr;
    of_rank[world.rank()] =
        train(job, result.program, states, wrapped ? *wrapped : world, seen[static_cast<size_t>(world.rank())]);
  });
  result.losses = std::move(seen[0].losses);
  result.logits = std::move(seen[0].logits);
  result.gradients = std::move(seen[0].gradients);
  result.states = of_rank[0];
  share_results(result);
  for (int rank = 1; rank < job.ranks; ++rank) {
    for (const auto& [name, value] : of_rank[rank]) {
      const bool same = std::memcmp(value.data(), result.states.at(name).data(), value.type().bytes()) == 0;
      PARTITA_CHECK(same, "rank {} ends with another {} than rank 0", rank, name);
    }
  }
  return result;
}

JobResult interpret_job(const Job& job) {
  JobResult result;
  result.program.graph = make_training_graph(job.forward, all_ops(), job.training).graph;
  const Graph& graph = result.program.graph;
  result.states = with_optimizer_states(graph, job.states);
  for (int step = 0; step < job.steps; ++step) {
    Arrays given = result.states;
    for (auto& [name, array] : batch_of(job, graph, step)) given.insert_or_assign(name, std::move(array));
    Interpretation done = interpret_all(graph, all_ops(), given);
    result.losses.push_back(done.outputs.at("loss").at(0));
    for (const auto& [name, array] : done.outputs) {
      if (step == 0 && name.starts_with("d_")) result.gradients.emplace(name, array);
    }
    result.states = std::move(done.states);
  }
  return result;
}

Arrays initial_states(const Graph& graph, uint64_t seed) {
  Arrays states;
  for (const State& state : graph.states) {
    const std::string& name = graph.values[state.entry].name;
    states.emplace(name, make_initial(state.init, graph.type(state.entry), random_key(seed, name)));
  }
  return states;
}

Array random_array(const Type& type, uint64_t key, int64_t below) {
  std::vector<double> values(static_cast<size_t>(type.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = is_float(type.dtype) ? random_normal(key, i, 0) : static_cast<double>(random_below(key, i, 0, below));
  }
  return cast(Array(type.shape, values), type.dtype);
}

double relative_error(const Array& a, const Array& b) {
  PARTITA_CHECK(a.type().elements() == b.type().elements(), "an array of {} is compared with one of {}",
                print(a.type()), print(b.type()));
  const Array wide_a = cast(a, DType::f64), wide_b = cast(b, DType::f64);
  const double* const numbers = wide_a.as<double>();
  const double* const expected = wide_b.as<double>();
  double difference = 0, largest = 0;
  for (int64_t i = 0; i < b.type().elements(); ++i) {
    difference = std::max(difference, std::abs(numbers[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
    if (!std::isfinite(numbers[i]) || !std::isfinite(expected[i])) return INFINITY;
  }
  return difference == 0 ? 0 : difference / largest;
}

void expect_same_training(const JobResult& result, const JobResult& oracle, double tolerance, const std::string& what) {
  ASSERT_EQ(result.losses.size(), oracle.losses.size()) << what;
  for (size_t step = 0; step < oracle.losses.size(); ++step) {
    EXPECT_NEAR(result.losses[step], oracle.losses[step], tolerance * std::abs(oracle.losses[step])) << what;
  }
  for (const auto& [name, value] : oracle.states) {
    EXPECT_LE(relative_error(result.states.at(name), value), tolerance) << what << ", state " << name;
  }
}

}  // namespace partita
