// How well a cluster file predicts trainings on this machine.
//
//   bench_prediction CLUSTER.toml [STEPS] [MODEL..]
//
// Trains each model (mlp, resnet50 and gpt when none is given) on rows of its own on 1, 2, 4 and 8 in-process ranks of
// a thread each, and on one rank with all cores, under three plans: data parallel, propagation, and exact search.
// Prints of each the median step beside the predicted one, and the arena beside the predicted memory; of each model and
// number of ranks which plan is predicted best, and how far it is from the best one that was measured.

#include <chrono>
#include <iostream>

#include "cluster/presets.h"
#include "launch/place.h"
#include "ops/registry.h"
#include "simulate/simulate_program.h"
#include "training/model.h"
#include "usage.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

struct PlanKind {
  const char* name;
  Parallel parallel;
  Search search = Search::propagation;
};
constexpr PlanKind kPlans[] = {
    {"data", Parallel::data}, {"propagation", Parallel::automatic}, {"exact", Parallel::automatic, Search::exact}};

struct StepSeconds : Callback {
  std::vector<double> seconds;
  void on_step_end(const StepInfo& info) override { seconds.push_back(info.seconds); }
  /// The median without the first step.
  double median() const {
    std::vector<double> sorted(seconds.begin() + (seconds.size() > 1), seconds.end());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

struct Compared {
  double measured = 0, predicted = 0, arena = 0, memory = 0;
};

JobConfig config_of(const std::string& model, const PlanKind& plan, int ranks, int threads) {
  JobConfig config = configured(model, {});
  config.plan.options.parallel = plan.parallel;
  config.plan.options.search = plan.search;
  config.ranks.count = ranks;
  config.ranks.threads = threads;
  return config;
}

Compared compare(const ZooJob& job, const Cluster& cluster, int64_t steps) {
  const Program program = job.program(Purpose::training);
  const StepPrices prices = prices_of(program.pipeline, program.stages, all_ops(), cluster, job.config().ranks.threads);
  const SimulatedStep step = simulate_program(program.pipeline, program.stages, prices);
  Compared result{.predicted = step.seconds};
  for (const SimulatedGroup& group : step.groups) result.memory = std::max(result.memory, group.peak_bytes);
  for (const StageProgram& stage : program.stages)
    result.arena = std::max(result.arena, static_cast<double>(stage.schedule.arena_bytes));
  StepSeconds times;
  Model model(job.network(), job.config(), Place{.cores = this_place().cores});
  model.train(job.rows(Split::train), {.most_steps = steps, .callbacks = {&times}});
  result.measured = times.median();
  return result;
}

/// Fewer of those that take long.
int64_t steps_of(const std::string& model, int64_t steps) {
  if (steps > 0) return steps;
  if (model.starts_with("mlp")) return 400;
  return model.starts_with("resnet") ? 6 : 12;
}

void compare_plans(const std::string& model, const Cluster& cluster, int ranks, int threads, int64_t steps) {
  std::vector<Compared> results;
  for (const PlanKind& plan : kPlans) {
    const ZooJob job(config_of(model, plan, ranks, threads), Place{.cores = this_place().cores});
    const Compared& one = results.emplace_back(compare(job, cluster, steps_of(model, steps)));
    fmt::print(
        "{:<12} {:<12} {:>2} x {:<2} measured {:10.3f} ms  predicted {:10.3f} ms  ratio {:.3f}  arena {:8.1f} MiB "
        " ratio {:.3f}\n",
        model, plan.name, ranks, threads, 1e3 * one.measured, 1e3 * one.predicted, one.predicted / one.measured,
        one.arena / (1 << 20), one.memory / one.arena);
    std::cout << std::flush;
  }
  size_t best = 0, chosen = 0;
  for (size_t i = 1; i < results.size(); ++i) {
    if (results[i].measured < results[best].measured) best = i;
    if (results[i].predicted < results[chosen].predicted) chosen = i;
  }
  fmt::print("{:<12} {:>2} x {:<2} predicted best: {}, measured best: {}, {:+.1f} % from it\n", model, ranks, threads,
             kPlans[chosen].name, kPlans[best].name, 100 * (results[chosen].measured / results[best].measured - 1));
}

void run(int argc, char** argv) {
  const Cluster cluster = open_cluster(argv[1]);
  const int64_t steps = argc > 2 ? std::stoll(argv[2]) : 0;
  std::vector<std::string> models(argv + std::min(argc, 3), argv + argc);
  if (models.empty()) models = {"mlp", "gpt", "resnet50"};
  for (const std::string& model : models) {
    for (const int ranks : {1, 2, 4, 8}) compare_plans(model, cluster, ranks, 1, steps);
    compare_plans(model, cluster, 1, this_place().cores, steps);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  if (argc < 2 || partita::asks_for_help(argc, argv, "CLUSTER.toml [STEPS] [MODEL..]")) return argc < 2;
  try {
    partita::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
