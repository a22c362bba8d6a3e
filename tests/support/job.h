#pragma once
// Trains a graph for a few steps on any number of in-process ranks: what tests compare.

#include <map>
#include <optional>

#include "compiler/compile.h"
#include "runtime/comm/communicator.h"
#include "runtime/execute/executor.h"

namespace partita {

using Arrays = std::map<std::string, Array>;

/// The device that PARTITA_TEST_DEVICE names, such as "xla:cpu", which the jobs of all tests run on then; else "cpu".
std::string tested_device();

struct Job {
  Graph forward;  // inputs, states, output "loss"
  TrainingOptions training;
  Arrays states;                          // before the first step
  std::function<Arrays(int step)> batch;  // whole inputs of a step
  int steps = 1;
  double learning_rate = 0.1;
  int ranks = 1;
  Mesh mesh;                                                              // mesh of `ranks`; none: one axis "data"
  std::function<Plan(const Graph&)> plan = nullptr;                       // none: data parallel
  std::function<Plan(const Graph&, int64_t ranks)> stage_plan = nullptr;  // plan of each stage's ranks
  int64_t micro_batches = 1;
  PipelineOptions pipeline{};
  OptimizerSharding zero{};
  int threads = 1;
  KernelSet kernels = KernelSet::reference;
  std::string device_name = tested_device();
  CollectiveMode collectives = CollectiveMode::cut;  // on an accelerator
  ScheduleOptions schedule;
  std::vector<std::string> switched_off;  // passes that do not run
  /// Makes the device of each rank, and that for which the job is compiled; none: `device_name`.
  std::function<std::unique_ptr<Device>(int threads, KernelSet kernels)> device = nullptr;
  int first_step = 0;  // batches are those of this step on
  /// Called on each rank: `begin` before the first step, when the states are set, and `end` after the last one.
  std::function<void(const Program&program, Executor&executor, Communicator&world)> begin = nullptr, end = nullptr;
  /// Makes the communicator that each rank uses instead of its world; none: the world.
  std::function<std::unique_ptr<Communicator>(Communicator& world)> wrap = nullptr;
};

struct JobResult {
  std::vector<double> losses;
  Arrays gradients;  // gradients of the first step, by parameter, when the job asks for them
  Arrays states;     // states after the last step
  Array logits;      // rank 0's rows in the first step
  Program program;
};

struct TestedJob {
  DType dtype = DType::f64;
  Shape image{1, 28, 28};  // shape of one sample; a language model has the recipe's
  int64_t batch = 24;
  int steps = 20;
  double learning_rate = 0.02;
  int64_t statistics_groups = 1;
  /// Labels of this class count for nothing: all of the first third of the rows, fewer and fewer of the others.
  std::optional<int64_t> ignore_index{};
};

/// A model of the zoo with its recipe's optimizer, trained on random batches: f64 with reference kernels, f32 with
/// fast ones.
Job model_job(const std::string& spec, const TestedJob& options);

/// For `ranks`, under data parallelism or the job's plan.
Program compile_job(const Job& job);

/// Compiles and runs the steps. Throws InternalError when a rank ends with other states than rank 0.
JobResult run_job(const Job& job);
/// Runs the steps with a program that is compiled already.
JobResult run_job(const Job& job, Program program);

/// Runs the steps in the interpreter, on one thread and without a plan.
JobResult interpret_job(const Job& job);

/// Every state of a graph at its initial values, from a seed.
Arrays initial_states(const Graph& graph, uint64_t seed);

/// Random values for a type: normal floats, integers below `below`.
Array random_array(const Type& type, uint64_t key, int64_t below = 10);

/// Fails the test unless all losses and states of the oracle are met, relative to their largest.
void expect_same_training(const JobResult& result, const JobResult& oracle, double tolerance, const std::string& what);

/// The largest |a - b| over the largest |b|.
double relative_error(const Array& a, const Array& b);

}  // namespace partita
