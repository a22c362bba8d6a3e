// How well the formulas of collectives describe this machine: those of the algorithms that run, and that of a ring.
//
//   bench_collective_fit [ROUNDS] [MILLISECONDS]
//
// Times collectives of 2, 4 and 8 ranks that are threads, ROUNDS times, each size and kind for MILLISECONDS, and takes
// the shortest median. Fits the links to all of these times, and to every second size to predict the sizes between, and
// prints the errors of the formulas alone and with the measured shares, in percent of the measured times.

#include <iostream>

#include "base/usable_cores.h"
#include "calibrate/fit_links.h"
#include "usage.h"

namespace partita {
namespace {

std::vector<CollectiveTime> shortest_times(int64_t rounds, double seconds) {
  std::vector<CollectiveTime> shortest;
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<CollectiveTime> times;
    for (const int ranks : {2, 4, 8}) {
      const std::vector<CollectiveTime> some = time_collectives(ranks, seconds);
      times.insert(times.end(), some.begin(), some.end());
    }
    if (shortest.empty()) shortest = times;
    for (size_t i = 0; i < times.size(); ++i) shortest[i].seconds = std::min(shortest[i].seconds, times[i].seconds);
  }
  return shortest;
}

/// One host, as calibration describes it, whose links are not known yet.
Cluster unfitted(const std::vector<CollectiveAlgorithm>& algorithms) {
  Cluster cluster;
  cluster.name = "machine";
  cluster.cores = usable_cores().own();
  cluster.software.algorithms = algorithms;
  cluster.software.messages_at_once = 1;
  cluster.protocols = {{.name = "memory"}};
  cluster.levels = {{.name = "core", .size = 8, .latency = {0}}};
  return cluster;
}

/// Every second size of each kind and number of ranks, from the first one or the second one on.
std::vector<CollectiveTime> every_second(const std::vector<CollectiveTime>& times, bool from_first) {
  std::map<std::pair<Collective, int>, int> seen;
  std::vector<CollectiveTime> some;
  for (const CollectiveTime& time : times) {
    if ((seen[{time.kind, time.ranks}]++ % 2 == 0) == from_first) some.push_back(time);
  }
  return some;
}

void print_errors(const char* algorithms, const char* what, const Cluster& cluster,
                  const std::vector<CollectiveTime>& times) {
  Cluster formulas = cluster;
  formulas.software.measured.clear();
  const CollectiveErrors alone = collective_errors(formulas, times), errors = collective_errors(cluster, times);
  fmt::print("{:<8} {:<24} formulas {:5.1f} % on average {:6.1f} % at most   with shares {:5.1f} % {:6.1f} %\n",
             algorithms, what, 100 * alone.mean, 100 * alone.most, 100 * errors.mean, 100 * errors.most);
}

void run(const Arguments& given) {
  const int64_t rounds = given.number(1, 3, /*least=*/1), milliseconds = given.number(2, 20, /*least=*/1);
  const std::vector<CollectiveTime> times = shortest_times(rounds, 1e-3 * static_cast<double>(milliseconds));
  const std::vector<CollectiveTime> fitted = every_second(times, true), between = every_second(times, false);
  const std::vector<CollectiveAlgorithm> own(std::begin(kRuntimeAlgorithms), std::end(kRuntimeAlgorithms));
  for (const auto& [name, algorithms] :
       {std::pair("ring", std::vector{CollectiveAlgorithm::ring}), std::pair("runtime", own)}) {
    print_errors(name, "all sizes", fit_links(unfitted(algorithms), times), times);
    print_errors(name, "sizes between the fitted", fit_links(unfitted(algorithms), fitted), between);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(argc, argv, "[ROUNDS] [MILLISECONDS]", /*required=*/0, partita::run);
}
