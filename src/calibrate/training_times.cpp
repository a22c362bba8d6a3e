#include "calibrate/training_times.h"

#include <time.h>

#include <algorithm>

#include "base/philox.h"
#include "calibrate/times.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "planner/simulation/step_prices.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/execute/executor.h"
#include "training/model.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr int kFewestSteps = 1, kMaxSteps = 400;
constexpr int64_t kStepsOfATraining = 20, kMaxTrainings = 7;

ZooJob job_of(const TrainingCase& training) {
  JobConfig config = configured(training.model, {});
  config.training.batch = training.batch;
  config.training.dtype = training.dtype;
  config.ranks.count = training.ranks;
  config.ranks.threads = training.threads;
  if (training.ranks > 1) {
    config.plan.options.parallel = Parallel::automatic;
    config.plan.options.search = Search::exact;
  }
  return {config, Place{.cores = training.threads * training.ranks}};
}

/// Returns a random operand, or 0.001 for the input "learning_rate".
Array random_input(const Type& type, const std::string& name) {
  constexpr double kLearningRate = 1e-3;
  Array array = random_operand(type, random_key(1, name));
  for (int64_t i = 0; name == "learning_rate" && i < type.elements(); ++i) array.set(i, kLearningRate);
  return array;
}

void fill(Executor& executor, const Graph& graph) {
  for (const State& state : graph.states) {
    const std::string& name = graph.name_of(state);
    executor.set_state(name, make_initial(state.init, graph.type(state.entry), random_key(1, name)));
  }
  for (const Input& input : graph.inputs) {
    const std::string& name = graph.values[static_cast<size_t>(input.value)].name;
    const Array array = random_input(executor.input_type(name), name);
    executor.set_input(name, array.tensor());
  }
}

/// Returns the CPU seconds of this thread, whatever else runs on its core.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of each instruction per step, and of steps without timers inside.
struct StepTimes {
  std::vector<std::vector<double>> instructions;
  std::vector<double> steps;
};

/// Returns the times of pairs of steps, without and with timers, that are repeated for about `seconds`: at least once,
/// at most 400 times, after a step that is not timed. All ranks call it and run the same number of pairs: the first
/// rank decides whether another follows. Throws RuntimeFailure(non_finite) if the loss is not finite, LostRanks, and
/// RuntimeFailure(out_of_memory) if a library lacks memory.
StepTimes run_steps(Executor& executor, int threads, double seconds, Communicator& world) {
  const StageExecutor& stage = *executor.stages().front();
  StepTimes times;
  times.instructions.resize(stage.schedule().instructions.size());
  executor.step();  // touches all memory
  const auto begin = CalibrationClock::now();
  for (int step = 0;; ++step) {
    uint8_t goes_on = step < kMaxSteps && (step < kFewestSteps || seconds_since(begin) < seconds);
    world.broadcast(&goes_on, 1, DType::u8, /*root=*/0);
    if (goes_on == 0) return times;
    const auto whole = CalibrationClock::now();
    const double own = cpu_seconds();
    executor.step();
    times.steps.push_back(threads == 1 ? cpu_seconds() - own : seconds_since(whole));
    executor.measure(true);
    executor.step();
    for (size_t i = 0; i < times.instructions.size(); ++i) times.instructions[i].push_back(stage.seconds()[i]);
    executor.measure(false);
  }
}

/// Returns the work of each instruction and the median of its seconds, in the order of the schedule, without
/// instructions that have no work.
std::vector<NodeTime> node_times(const LocalGraph& local, const Schedule& schedule, const StepTimes& times) {
  const Rules rules(local.graph, all_ops());
  std::vector<NodeTime> nodes;
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Work work = instruction_work(schedule.instructions[i], local, schedule, rules);
    if (work.flops <= 0 && work.bytes <= 0) continue;
    nodes.push_back({work.op, work, median(times.instructions[i])});
  }
  return nodes;
}

}  // namespace

Program program_of(const TrainingCase& training) { return job_of(training).program(Purpose::training); }

TrainingTime time_training(const TrainingCase& training, double seconds) {
  const Program program = program_of(training);
  TrainingTime result;
  run_ranks(training.ranks, [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), training.threads);
    device->enter_thread();
    Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
    fill(executor, program.graph);
    const StepTimes times = run_steps(executor, training.threads, seconds, world);
    if (world.rank() > 0) return;
    result.nodes = node_times(program.local(), program.schedule(), times);
    result.step = median(times.steps);
    double sum = 0;
    for (const NodeTime& node : result.nodes) sum += node.seconds;
    result.disturbance = std::max(1.0, sum / result.step);
    if (training.threads > 1) return;
    // Time between instructions is attributed to them. With several ranks, communication is part of it.
    const double times_as_long = training.ranks > 1 ? result.disturbance : sum / result.step;
    for (NodeTime& node : result.nodes) node.seconds /= times_as_long;
  });
  return result;
}

double time_whole_step(const TrainingCase& training, int64_t steps) {
  struct StepSeconds : Callback {
    std::vector<double> seconds;
    void on_step_end(const StepInfo& info) override { seconds.push_back(info.seconds); }
  };
  const ZooJob job = job_of(training);
  const int64_t trainings = std::clamp<int64_t>(steps / kStepsOfATraining, 1, kMaxTrainings);
  std::vector<double> medians;
  for (int64_t i = 0; i < trainings; ++i) {
    StepSeconds times;
    Model model(job, Place{.cores = training.threads});
    model.train(job.rows(Split::train), {.max_steps = steps / trainings, .callbacks = {&times}, .prints = false});
    medians.push_back(median(std::move(times.seconds)));
  }
  return median(std::move(medians));
}

}  // namespace partita
