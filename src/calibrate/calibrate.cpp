#include "calibrate/calibrate.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/first_error.h"
#include "base/plain_text.h"
#include "base/resources.h"
#include "calibrate/channel_block.h"
#include "calibrate/fit_device.h"
#include "calibrate/fit_links.h"
#include "calibrate/minimise.h"
#include "calibrate/times.h"
#include "compiler/schedule/communications.h"
#include "ir/ops/registry.h"
#include "planner/simulation/simulate_program.h"
#include "runtime/device/device.h"

namespace partita {
namespace {

constexpr int kGroupSizes[] = {2, 4, 8};
constexpr int64_t kFewestRanks = 8, kWholeSteps = 300, kFewestWholeSteps = 6;
constexpr double kMinThreadShare = 0.01, kMaxSkew = 1e-3;

/// Calls `fn` with 0 to `count` - 1, each on a thread of its own, 0 on this one. Rethrows the first error of `fn` when
/// all have ended. Throws RuntimeFailure(out_of_memory) if a thread cannot be started.
template <class Fn>
void run_at_once(size_t count, const Fn& fn) {
  FirstError error;
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < count; ++i) {
      others.push_back(start_thread("a thread that calibrates", [&, i] { error.run([&] { fn(i); }); }));
    }
    error.run([&] { fn(0); });
  }
  error.rethrow();
}

/// Returns the sum over `threads` threads of the bytes that each reads and writes per second in its fastest copy, while
/// all copy at once, each in its own memory. Throws RuntimeFailure(out_of_memory) if a thread cannot be started.
double copy_bandwidth(int threads) {
  constexpr size_t kBytes = size_t{64} << 20;
  constexpr int kCopies = 6;
  std::vector<double> rates(static_cast<size_t>(threads));
  const auto copy = [&](size_t thread) {
    std::vector<char> from(kBytes, 1), to(kBytes, 2);
    std::vector<double> times;
    for (int i = 0; i < kCopies; ++i) {
      const auto begin = CalibrationClock::now();
      std::memcpy(to.data(), from.data(), kBytes);
      times.push_back(seconds_since(begin));
      from[static_cast<size_t>(i)] = to[kBytes - 1];
    }
    rates[thread] = 2.0 * static_cast<double>(kBytes) / shortest(times);
  };
  run_at_once(rates.size(), copy);
  double all = 0;
  for (const double rate : rates) all += rate;
  return all;
}

/// Returns the highest flop/s of a training's matrix products, 0 if it has none.
double best_rate(const TrainingTime& time) {
  double best = 0;
  for (const NodeTime& node : time.nodes) {
    if (node.work.kind == WorkKind::product) best = std::max(best, node.work.flops / node.seconds);
  }
  return best;
}

/// Fits the costs of steps on several ranks that the prediction lacks to `steps`, the measured seconds per step of the
/// first cases, and stores them in `cluster`: seconds per step (`rank_overhead`), and seconds that a collective waits
/// for each other rank (`rank_skew`), each 0 to 1 ms. Throws InvalidArgument for a case that cannot be trained.
void set_rank_costs(Cluster& cluster, const std::vector<TrainingCase>& cases, const std::vector<double>& steps) {
  struct RankStep {
    double measured = 0, predicted = 0, waits = 0;  // waits: number of waits of exposed collectives for another rank
  };
  std::vector<RankStep> all;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Program program = program_of(cases[i]);
    const StepPrices prices = prices_of(program.pipeline, program.stages, all_ops(), cluster, /*threads=*/1);
    RankStep& step = all.emplace_back();
    step.measured = steps[i];
    step.predicted = simulate_program(program.pipeline, program.stages, prices).seconds;
    const auto others = static_cast<double>(std::min<int64_t>(cases[i].ranks, cluster.cores) - 1);
    for (const Communication& one : communications_of(program.schedule(), program.local()))
      step.waits += one.is_exposed() ? others : 0;
  }
  const auto within = [](double number) { return std::clamp(number, 0.0, kMaxSkew); };
  const std::vector<double> best = minimise({3e-5, 1e-5}, [&](const std::vector<double>& numbers) {
    double loss = 0;
    for (const RankStep& step : all) {
      const double predicted = step.predicted + within(numbers[0]) + step.waits * within(numbers[1]);
      loss += std::pow(std::log(predicted / step.measured), 2);
    }
    return loss;
  });
  cluster.software.rank_overhead = within(best[0]);
  cluster.software.rank_skew = within(best[1]);
}

double instruction_seconds(const TrainingTime& time) {
  double seconds = 0;
  for (const NodeTime& node : time.nodes) seconds += node.seconds;
  return seconds;
}

/// Returns the typical length of a training's calls: the exponential of the mean logarithm of their seconds, weighted
/// by their seconds. NaN if no call takes time.
double typical_call(const TrainingTime& time) {
  double sum = 0, seconds = 0;
  for (const NodeTime& node : time.nodes) {
    if (node.seconds <= 0) continue;
    sum += node.seconds * std::log(node.seconds);
    seconds += node.seconds;
  }
  return std::exp(sum / seconds);
}

/// Returns a curve through `points`, which map sizes to shares of a speed. A share is lowered where more work would
/// otherwise take less time.
Curve curve_through(std::map<double, double> points) {
  Curve curve;
  for (auto [size, share] : points) {
    if (!curve.empty()) share = std::min(share, curve.back().share * size / curve.back().size);
    curve.push_back({size, share});
  }
  return curve;
}

void set_thread_shares(Cluster& cluster, const std::vector<ThreadGain>& gains) {
  if (gains.empty()) return;
  double sum = 0;
  std::map<double, double> shares;
  for (const ThreadGain& gain : gains) {
    sum += gain.share;
    shares[gain.call_seconds] = gain.share;
  }
  cluster.thread_share = sum / static_cast<double>(gains.size());
  cluster.thread_shares = curve_through(std::move(shares));
}

/// Returns the speed of a training on one core while the other cores run the same training, relative to its speed
/// alone: the geometric mean over `options.core_cases`, limited to 0.01 to 1. Each training runs for about `seconds`.
/// Throws InvalidArgument for a case that cannot be trained, RuntimeFailure(non_finite) if a loss is not finite, and
/// RuntimeFailure(out_of_memory) without memory or threads.
double busy_share(const CalibrationOptions& options, double seconds) {
  double alone = 0, together = 0;
  for (const TrainingCase& training : options.core_cases) {
    std::vector<TrainingTime> times(static_cast<size_t>(options.cores));
    const auto train = [&](size_t core) { times[core] = time_training(training, seconds); };
    alone += std::log(instruction_seconds(time_training(training, seconds)));
    run_at_once(times.size(), train);
    for (const TrainingTime& time : times)
      together += std::log(instruction_seconds(time)) / static_cast<double>(times.size());
  }
  const double share = std::exp((alone - together) / static_cast<double>(options.core_cases.size()));
  return std::clamp(share, 0.01, 1.0);
}

/// One round of all measurements.
class MachineRound {
 public:
  explicit MachineRound(const CalibrationOptions& options)
      : options_(options), share_(options.seconds / static_cast<double>(2 * options.cases.size()) / options.rounds) {}

  Measurements measure() {
    tell("copies");
    measured_.copy_bandwidth = copy_bandwidth(1);
    measured_.copy_bandwidth_of_all = std::max(measured_.copy_bandwidth, copy_bandwidth(options_.cores));
    for (const TrainingCase& training : options_.cases) {
      tell(fmt::format("{}, batch {}{}", training.model, training.batch,
                       training.ranks > 1 ? fmt::format(", {} ranks", training.ranks) : ""));
      measured_.trainings.push_back(time_training(training, share_));
      note_peak(training, measured_.trainings.back());
    }
    const TrainingCase small{.model = "mlp:layers=3,hidden=128", .batch = 64};
    tell(fmt::format("{} as a user trains it", small.model));
    measured_.overhead = std::max(0.0, time_whole_step(small, kWholeSteps) - time_training(small, share_).step);
    if (options_.cores > 1) measure_cores();
    measure_ranks();
    return std::move(measured_);
  }

 private:
  void tell(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }

  void note_peak(const TrainingCase& training, const TrainingTime& time) {
    double& peak = measured_.peak[training.dtype];
    peak = std::max(peak, best_rate(time));
  }

  void measure_cores() {
    for (TrainingCase training : options_.core_cases) {
      tell(fmt::format("{} on 1 and {} cores", training.model, options_.cores));
      const TrainingTime alone = time_training(training, share_);
      note_peak(training, alone);
      const int64_t steps = std::clamp(static_cast<int64_t>(share_ / alone.step), kFewestWholeSteps, kWholeSteps);
      const double one = time_whole_step(training, steps);
      training.threads = options_.cores;
      const double faster = one / time_whole_step(training, steps);
      tell(fmt::format("  {:.2f} times as fast", faster));
      const double added = std::clamp((faster - 1) / (options_.cores - 1), kMinThreadShare, 1.0);
      measured_.thread_gains.push_back({typical_call(alone), added});
    }
    measured_.busy_share = busy_share(options_, share_);
  }

  void measure_ranks() {
    for (const TrainingCase& training : options_.rank_cases) {
      tell(fmt::format("{} on {} ranks as a user trains it", training.model, training.ranks));
      measured_.steps_of_ranks.push_back(
          time_whole_step(training, training.batch > 16 ? kWholeSteps / 2 : kWholeSteps / 12));
    }
    tell("products of f64");
    const TrainingCase wide{.model = "mlp:layers=2,hidden=512", .batch = 128, .dtype = DType::f64};
    note_peak(wide, time_training(wide, share_));
    for (const int ranks : kGroupSizes) {
      tell(fmt::format("collectives of {} ranks", ranks));
      const auto times = time_collectives(ranks, share_ / 10);
      measured_.collectives.insert(measured_.collectives.end(), times.begin(), times.end());
    }
  }

  const CalibrationOptions& options_;
  const double share_;  // seconds of a case
  Measurements measured_;
};

/// Rounds the fitted numbers of the cluster to four digits, since more would be meaningless and hard to read. Shares
/// are lowered where more work would then take less time.
void round_numbers(Cluster& cluster) {
  const auto round = [](double& number) {
    number = parse_number<double>(fmt::format("{:.4g}", number)).value_or(number);
  };
  const auto round_curve = [&](Curve& curve) {
    for (size_t i = 0; i < curve.size(); ++i) {
      round(curve[i].share);
      if (i > 0) curve[i].share = std::min(curve[i].share, curve[i - 1].share * curve[i].size / curve[i - 1].size);
    }
  };
  for (CurvePoint& point : cluster.thread_shares) round(point.size);
  round_curve(cluster.thread_shares);
  DeviceSpec& device = cluster.device;
  for (auto& [dtype, peak] : device.peak) round(peak);
  const auto round_efficiency = [&](Efficiency& efficiency) {
    round_curve(efficiency.flops);
    round_curve(efficiency.bytes);
    for (double* extra : {&efficiency.extra_rows, &efficiency.extra_columns, &efficiency.extra_depth}) round(*extra);
  };
  for (auto& [kind, efficiency] : device.efficiency) round_efficiency(efficiency);
  for (auto& [op, calls] : device.measured) {
    for (MeasuredCall& call : calls) {
      for (double* number :
           {&call.flops, &call.bytes, &call.batch, &call.rows, &call.columns, &call.depth, &call.share})
        round(*number);
    }
  }
  for (auto& [kind, share] : cluster.software.link_share) round(share);
  for (auto& [kind, groups] : cluster.software.measured) {
    for (GroupShares& group : groups) round_curve(group.shares);
  }
  LinkLevel& level = cluster.levels[0];
  for (double* number :
       {&device.memory_bandwidth, &device.launch_overhead, &cluster.memory_bus, &cluster.thread_share,
        &cluster.busy_share, &level.bandwidth, &level.latency[0], &level.total_bandwidth,
        &cluster.protocols[0].overhead, &cluster.software.step_overhead, &cluster.software.rank_overhead,
        &cluster.software.rank_skew, &cluster.software.switch_overhead}) {
    round(*number);
  }
}

double physical_memory() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::vector<TrainingCase> calibration_cases() {
  return {
      {"mlp:layers=4,hidden=64", 8},
      {"mlp:layers=4,hidden=64", 64},
      {"mlp:layers=3,hidden=256", 16},
      {"mlp:layers=3,hidden=256", 64},
      {"mlp:layers=3,hidden=512", 128},
      {"mlp:layers=3,hidden=768", 64},
      {"mlp:layers=3,hidden=1024", 64},
      {"mlp:layers=2,hidden=1536", 32},
      {"mlp:layers=2,hidden=2048", 64},
      {"mlp:layers=2,hidden=4096", 16},
      {"lenet", 64},
      {"resnet18:width=16", 16},
      {"resnet18", 8},
      {"resnet50", 4},
      {"resnet50", 32},
      {"resnet50", 128},
      {"gpt:layers=2,hidden=64,heads=2,seq=64", 4},
      {"gpt:layers=1,hidden=128,heads=4,seq=128", 4},
      {"gpt:layers=1,hidden=128,heads=4,seq=128", 32},
      {"gpt:layers=1,hidden=256,heads=8,seq=128", 8},
      {"gpt:layers=1,hidden=512,heads=8,seq=128,vocab=1024", 4},
      {.model = "mlp:layers=3,hidden=256", .batch = 64, .ranks = 2},
      {.model = "resnet18", .batch = 16, .ranks = 2},
      {.model = "resnet50", .batch = 64, .ranks = 2},
      {.model = "resnet50", .batch = 64, .ranks = 4},
      {.model = "gpt:layers=1,hidden=128,heads=4,seq=128", .batch = 16, .ranks = 2},
  };
}

std::vector<TrainingCase> calibration_core_cases() {
  return {{"mlp:layers=3,hidden=256", 64}, {"resnet18", 8}, {"gpt:layers=1,hidden=128,heads=4,seq=128", 16}};
}

std::vector<TrainingCase> calibration_rank_cases() {
  return {{.model = "mlp:layers=3,hidden=256", .batch = 64, .ranks = 2},
          {.model = "mlp:layers=3,hidden=128", .batch = 64, .ranks = 2},
          {.model = "mlp:layers=3,hidden=256", .batch = 64, .ranks = 4},
          {.model = "mlp:layers=3,hidden=256", .batch = 64, .ranks = 8},
          {.model = "mlp:layers=3,hidden=128", .batch = 64, .ranks = 8},
          {.model = "lenet", .batch = 64, .ranks = 2},
          {.model = "gpt:layers=2,hidden=64,heads=2,seq=64", .batch = 8, .ranks = 2},
          {.model = "resnet18:width=16", .batch = 16, .ranks = 2}};
}

double Measurements::disturbance() const {
  double most = 1;
  for (const TrainingTime& training : trainings) most = std::max(most, training.disturbance);
  return most;
}

Measurements median(std::vector<Measurements> rounds) {
  Measurements result = rounds.front();
  const auto take = [&](const auto& number_of) {
    std::vector<double> numbers;
    for (Measurements& round : rounds) numbers.push_back(number_of(round));
    number_of(result) = median(std::move(numbers));
  };
  take([](Measurements& one) -> double& { return one.copy_bandwidth; });
  take([](Measurements& one) -> double& { return one.copy_bandwidth_of_all; });
  take([](Measurements& one) -> double& { return one.busy_share; });
  take([](Measurements& one) -> double& { return one.overhead; });
  for (const auto& [dtype, peak] : rounds.front().peak)
    take([dtype = dtype](Measurements& one) -> double& { return one.peak.at(dtype); });
  for (size_t i = 0; i < result.thread_gains.size(); ++i) {
    take([i](Measurements& one) -> double& { return one.thread_gains[i].call_seconds; });
    take([i](Measurements& one) -> double& { return one.thread_gains[i].share; });
  }
  for (size_t i = 0; i < result.trainings.size(); ++i) {
    take([i](Measurements& one) -> double& { return one.trainings[i].step; });
    take([i](Measurements& one) -> double& { return one.trainings[i].disturbance; });
    for (size_t n = 0; n < result.trainings[i].nodes.size(); ++n)
      take([i, n](Measurements& one) -> double& { return one.trainings[i].nodes[n].seconds; });
  }
  for (size_t i = 0; i < result.steps_of_ranks.size(); ++i)
    take([i](Measurements& one) -> double& { return one.steps_of_ranks[i]; });
  for (size_t i = 0; i < result.collectives.size(); ++i)
    take([i](Measurements& one) -> double& { return one.collectives[i].seconds; });
  return result;
}

Measurements measure_machine(const CalibrationOptions& options) {
  std::vector<Measurements> rounds;
  for (int round = 0; round < options.rounds; ++round) {
    if (options.progress) options.progress(fmt::format("round {} of {}", round + 1, options.rounds));
    rounds.push_back(MachineRound(options).measure());
  }
  return median(std::move(rounds));
}

Cluster fit_machine(const Measurements& measured, const CalibrationOptions& options) {
  Cluster cluster;
  cluster.name = options.name;
  cluster.device = {
      .name = "core", .peak = measured.peak, .memory = physical_memory(), .memory_bandwidth = measured.copy_bandwidth};
  std::vector<NodeTime> nodes;
  for (const TrainingTime& training : measured.trainings)
    nodes.insert(nodes.end(), training.nodes.begin(), training.nodes.end());
  cluster.device = fit_device(cluster.device, nodes);
  cluster.protocols = {{.name = "memory"}};
  cluster.levels = {{.name = "core", .size = std::max<int64_t>(kFewestRanks, options.cores), .latency = {0}}};
  cluster.software.step_overhead = measured.overhead;
  cluster.software.algorithms = {std::begin(kRuntimeAlgorithms), std::end(kRuntimeAlgorithms)};
  cluster.software.messages_at_once = 1;
  cluster.software.channel_block = channel_block(make_cpu_device(all_ops(), /*threads=*/1)->catalog());
  cluster.cores = options.cores;
  cluster.memory_bus = measured.copy_bandwidth_of_all;
  set_thread_shares(cluster, measured.thread_gains);
  cluster.busy_share = measured.busy_share;
  cluster = fit_links(std::move(cluster), measured.collectives);
  set_rank_costs(cluster, options.rank_cases, measured.steps_of_ranks);
  round_numbers(cluster);
  verify(cluster);
  return cluster;
}

std::string describe_fit(const Measurements& measured, const CalibrationOptions& options, const Cluster& cluster) {
  std::string text;
  for (size_t i = 0; i < measured.trainings.size(); ++i) {
    if (options.cases[i].ranks > 1) continue;  // its step has collectives
    double predicted = 0;
    for (const NodeTime& node : measured.trainings[i].nodes) predicted += seconds_of(node.work, cluster.device);
    const double error = predicted / measured.trainings[i].step - 1;
    text +=
        fmt::format("  {:<44} {:>4} measured {:9.3f} ms, predicted {:9.3f} ms, {:+5.1f} %\n", options.cases[i].model,
                    options.cases[i].batch, 1e3 * measured.trainings[i].step, 1e3 * predicted, 100 * error);
  }
  Cluster formulas = cluster;
  formulas.software.measured.clear();
  const CollectiveErrors errors = collective_errors(cluster, measured.collectives);
  const CollectiveErrors alone = collective_errors(formulas, measured.collectives);
  return text + fmt::format(
                    "  {} collectives: error {:.0f} % on average, {:.0f} % at most; by the formulas of their "
                    "algorithms alone {:.0f} % and {:.0f} %\n",
                    measured.collectives.size(), 100 * errors.mean, 100 * errors.most, 100 * alone.mean,
                    100 * alone.most);
}

}  // namespace partita
