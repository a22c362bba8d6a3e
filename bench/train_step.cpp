// The time of one training step on a fixed random batch.
//
//   bench_train_step MODEL BATCH [RANKS=1] [THREADS=2] [STEPS=50] [PROFILE=0] [PRECISION=f32] [NO_PASS..]
//
// NO_PASS.. names passes of the compiler that are left out, such as fold_casts.
//
// Prints the median, the mean, the smallest and the largest step in milliseconds; with PROFILE=1 also where the
// time of a step goes, by kernel. Ranks are threads or, under mpirun, its processes. Batch norms take the statistics of
// each rank's rows, as data parallel training does elsewhere.

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <string>

#include "base/philox.h"
#include "compiler/autodiff/training_graph.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/launch/run_process.h"
#include "usage.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

struct Settings {
  std::string model;
  int64_t batch = 32;
  int ranks = 1, threads = 2, steps = 50;
  bool profile = false;
  MixedPrecision precision = MixedPrecision::f32;
  std::vector<std::string> no_pass{};
};

Array random_input(const Type& type, const std::string& name) {
  Array array(type);
  const uint64_t key = random_key(1, name);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const auto element = static_cast<uint64_t>(i);
    array.set(i, name == "learning_rate" ? 0.01
                 : name == kLossScale    ? 65536
                 : is_float(type.dtype)  ? random_normal(key, element, 0)
                                         : static_cast<double>(random_below(key, element, 0, 10)));
  }
  return array;
}

/// The time of each kernel over all its nodes, then the nodes that take most.
void print_profile(const Executor& executor) {
  std::map<std::string, double> by_kernel, by_node;
  double total = 0;
  for (const auto& [name, seconds] : executor.measured()) {
    by_kernel[name.substr(0, name.find(' '))] += seconds;
    by_node[name] += seconds;
    total += seconds;
  }
  for (const auto* times : {&by_kernel, &by_node}) {
    std::vector<std::pair<double, std::string>> rows;
    for (const auto& [name, seconds] : *times) rows.emplace_back(seconds, name);
    std::sort(rows.rbegin(), rows.rend());
    rows.resize(std::min<size_t>(rows.size(), times == &by_kernel ? 20 : 12));
    for (const auto& [seconds, name] : rows) {
      fmt::print("  {:9.1f} us {:5.1f} %  {}\n", seconds * 1e6, 100 * seconds / total, name);
    }
    fmt::print("\n");
  }
}

void measure(const Settings& settings) {
  const Place place = this_place();
  JobConfig config = configured(settings.model, {});
  config.training.batch = settings.batch;
  config.training.precision = settings.precision;
  config.ranks = {.count = settings.ranks, .threads = settings.threads};
  config.plan.options.parallel = Parallel::data;
  config.plan.passes_switched_off = settings.no_pass;
  const Program program = ZooJob(config, place).program(Purpose::training);
  const Mesh& mesh = program.local().mesh;
  run_on_ranks(place, settings.ranks, settings.threads, [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), settings.threads);
    Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
    const Graph& graph = program.graph;
    for (const State& state : graph.states) {
      const std::string& name = graph.values[state.entry].name;
      executor.set_state(name, make_initial(state.init, graph.type(state.entry), random_key(1, name)));
    }
    for (const Input& input : graph.inputs) {
      const std::string& name = graph.values[input.value].name;
      const Array whole = random_input(graph.type(input.value), name);
      Array part(executor.input_type(name));
      copy_part(whole.tensor(),
                local_ranges(graph.type(input.value), program.local().shardings[input.value], mesh,
                             mesh.coordinates(world.rank())),
                part.data());
      executor.set_input(name, std::as_const(part).tensor());
    }
    for (int warm = 0; warm < 5; ++warm) executor.step();
    std::vector<double> times;
    for (int step = 0; step < settings.steps; ++step) {
      const auto begin = std::chrono::steady_clock::now();
      executor.step();
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    if (world.rank() != 0) return;
    std::sort(times.begin(), times.end());
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    fmt::print(
        "partita {} B {} ranks {} threads {} median {:.3f} ms mean {:.3f} ms min {:.3f} ms max {:.3f} ms "
        "arena {:.1f} MiB\n",
        settings.model, settings.batch, settings.ranks, settings.threads, times[times.size() / 2], mean, times.front(),
        times.back(), static_cast<double>(executor.arena_bytes()) / (1 << 20));
    if (settings.profile && settings.ranks == 1) {
      executor.measure(true);
      executor.step();
      print_profile(executor);
    }
  });
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "MODEL BATCH [RANKS] [THREADS] [STEPS] [PROFILE] [PRECISION] [NO_PASS..]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/2, [](const partita::Arguments& given) {
    partita::measure({.model = given.text(1, ""),
                      .batch = given.number(2, 32),
                      .ranks = given.number(3, 1),
                      .threads = given.number(4, 2),
                      .steps = given.number(5, 50),
                      .profile = given.number(6, 0, /*least=*/0) != 0,
                      .precision = partita::parse_name<partita::MixedPrecision>("PRECISION", given.text(7, "f32")),
                      .no_pass = given.rest(8)});
  });
}
