// How well a cluster file predicts trainings on this machine.
//
//   bench_prediction CLUSTER.toml[,CLUSTER.toml..] [STEPS] [MODEL..]
//
// Several files predict the same trainings, so that they can be compared.
//
// Trains each model (mlp, resnet50 and gpt when none is given) on rows of its own on 1, 2, 4 and 8 in-process ranks of
// a thread each, and on one rank with all cores, under three plans: data parallel, propagation, and exact search, of
// which those that make the same program are one. The trainings take turns, a few rounds of all of them.
// Prints for each the median step of the median round next to the predicted one, the shortest and longest round, and
// the arena next to the predicted memory. Prints for each model and number of ranks which plan is predicted best, how
// far it is from the best measured one, and whether that is within 5 %.

#include <chrono>
#include <iostream>

#include "base/plain_text.h"
#include "ir/ops/registry.h"
#include "planner/cluster/presets.h"
#include "planner/simulation/simulate_program.h"
#include "runtime/launch/place.h"
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

constexpr double kNear = 0.05;

double median_of(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

struct StepSeconds : Callback {
  std::vector<double> seconds;
  void on_step_end(const StepInfo& info) override { seconds.push_back(info.seconds); }
  /// The median without the first step.
  double median() const { return median_of({seconds.begin() + (seconds.size() > 1), seconds.end()}); }
};

/// A program, the plans that make it, and the steps of its trainings.
struct Candidate {
  std::string plans;
  ZooJob job;
  std::string program;
  std::vector<double> predicted{};  // by cluster
  double arena = 0, memory = 0;
  std::vector<double> rounds{};

  double measured() const { return median_of(rounds); }
};

JobConfig config_of(const std::string& model, const PlanKind& plan, int ranks, int threads) {
  JobConfig config = configured(model, {});
  config.plan.options.parallel = plan.parallel;
  config.plan.options.search = plan.search;
  config.ranks.count = ranks;
  config.ranks.threads = threads;
  return config;
}

Candidate candidate_of(const std::string& plan, ZooJob job, const std::vector<Cluster>& clusters) {
  const Program program = job.program(Purpose::training);
  const int threads = job.config().ranks.threads;
  Candidate result{.plans = plan, .job = std::move(job), .program = {}};
  for (const Cluster& cluster : clusters) {
    const StepPrices prices = prices_of(program.pipeline, program.stages, all_ops(), cluster, threads);
    const SimulatedStep step = simulate_program(program.pipeline, program.stages, prices);
    result.predicted.push_back(step.seconds);
    for (const SimulatedGroup& group : step.groups) result.memory = std::max(result.memory, group.peak_bytes);
  }
  for (const StageProgram& stage : program.stages) {
    result.arena = std::max(result.arena, static_cast<double>(stage.schedule.arena_bytes));
    result.program += print(stage.schedule, stage.local);
  }
  return result;
}

double median_step(const ZooJob& job, int64_t steps) {
  StepSeconds times;
  Model model(job, Place{.cores = this_place().cores});
  model.train(job.rows(Split::train), {.max_steps = steps, .callbacks = {&times}, .prints = false});
  return times.median();
}

/// Steps of a training, fewer for models whose steps take long.
int64_t steps_of(const std::string& model, int64_t steps) {
  if (steps > 0) return steps;
  if (model.starts_with("mlp")) return 200;
  return model.starts_with("resnet") ? 3 : 5;
}

/// Rounds of a model, more for short trainings: two ranks on two cores disturb each other in some of them only.
int rounds_of(const std::string& model) { return model.starts_with("mlp") ? 15 : 5; }

std::vector<Candidate> candidates_of(const std::string& model, const std::vector<Cluster>& clusters, int ranks,
                                     int threads) {
  std::vector<Candidate> candidates;
  for (const PlanKind& plan : kPlans) {
    Candidate one = candidate_of(
        plan.name, ZooJob(config_of(model, plan, ranks, threads), Place{.cores = this_place().cores}), clusters);
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Candidate& other) { return other.program == one.program; });
    if (same == candidates.end()) {
      candidates.push_back(std::move(one));
    } else {
      same->plans += fmt::format(", {}", plan.name);
    }
  }
  return candidates;
}

void print_best(const std::string& model, const std::vector<Candidate>& candidates, int ranks, int threads,
                const Cluster& cluster, size_t number) {
  const Candidate *best = candidates.data(), *chosen = candidates.data();
  for (const Candidate& one : candidates) {
    if (one.measured() < best->measured()) best = &one;
    if (one.predicted[number] < chosen->predicted[number]) chosen = &one;
  }
  const double further = chosen->measured() / best->measured() - 1;
  fmt::print("{:<12} {:>2} x {:<2} by {} predicted best: {}; measured best: {}; {:+.1f} % from it, {} 5 %\n", model,
             ranks, threads, cluster.name, chosen->plans, best->plans, 100 * further,
             further <= kNear ? "within" : "NOT within");
}

void compare_plans(const std::string& model, const std::vector<Cluster>& clusters, int ranks, int threads,
                   int64_t steps) {
  std::vector<Candidate> candidates = candidates_of(model, clusters, ranks, threads);
  for (int round = 0; round < rounds_of(model); ++round) {
    for (Candidate& one : candidates) one.rounds.push_back(median_step(one.job, steps_of(model, steps)));
  }
  for (const Candidate& one : candidates) {
    const auto [least, most] = std::minmax_element(one.rounds.begin(), one.rounds.end());
    for (size_t i = 0; i < clusters.size(); ++i) {
      fmt::print(
          "{:<12} {:<24} {:>2} x {:<2} measured {:10.3f} ms ({:.3f} to {:.3f})  by {} predicted {:10.3f} ms  ratio "
          "{:.3f}  arena {:8.1f} MiB  ratio {:.3f}\n",
          model, one.plans, ranks, threads, 1e3 * one.measured(), 1e3 * *least, 1e3 * *most, clusters[i].name,
          1e3 * one.predicted[i], one.predicted[i] / one.measured(), one.arena / (1 << 20), one.memory / one.arena);
    }
  }
  for (size_t i = 0; i < clusters.size(); ++i) print_best(model, candidates, ranks, threads, clusters[i], i);
  std::cout << std::flush;
}

void run(const Arguments& given) {
  std::vector<Cluster> clusters;
  const std::string files = given.text(1, "");
  for (const std::string_view file : split_words(files, ",")) clusters.push_back(open_cluster(file));
  const int64_t steps = given.number(2, 0, /*least=*/0);
  std::vector<std::string> models = given.rest(3);
  if (models.empty()) models = {"mlp", "gpt", "resnet50"};
  for (const std::string& model : models) {
    for (const int ranks : {1, 2, 4, 8}) compare_plans(model, clusters, ranks, 1, steps);
    compare_plans(model, clusters, 1, this_place().cores, steps);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(argc, argv, "CLUSTER.toml[,CLUSTER.toml..] [STEPS] [MODEL..]", /*required=*/1,
                                partita::run);
}
