// What it takes to make the plan, the local graphs and the schedules of every stage of a large pipeline, and to follow
// its order without data. Nothing is trained.
//
//   bench_pipeline_sizes MODEL [KEY=VALUE]...     keys of a configuration, as ranks.count=1024

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "ir/ops/registry.h"
#include "ir/orders/text.h"
#include "job/options.h"
#include "runtime/launch/place.h"
#include "training/memory.h"
#include "usage.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(const Arguments& given) {
  std::vector<Assignment> assignments;
  for (const std::string& text : given.rest(2)) {
    const size_t equals = std::min(text.find('='), text.size() - 1);
    assignments.push_back({&find_option(text.substr(0, equals)), text, {text.substr(equals + 1)}});
  }
  const auto begin = std::chrono::steady_clock::now();
  const ZooJob job(configured(given.text(1, ""), assignments), Place{.cores = 1});
  const Program program = job.program(Purpose::training);
  const double made = seconds_since(begin);
  for (const PassTime& pass : program.times) fmt::print("{:<14} {:8.3f} s\n", pass.name, pass.seconds);
  size_t nodes = 0, instructions = 0, largest = 0;
  for (const StageProgram& stage : program.stages) {
    nodes += stage.local.graph.nodes.size();
    instructions += stage.schedule.instructions.size();
    largest = std::max(largest, print(stage.local, all_ops()).size());
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} stages on {} ranks, {} slots, {} transfers, {} nodes, {} instructions\n", program.stages.size(),
             program.pipeline.ranks(), program.pipeline.sequence.size(), program.pipeline.transfers.size(), nodes,
             instructions);
  fmt::print("text of the order {} bytes, of the largest local graph {} bytes\n",
             print(program.pipeline.sequence, program.pipeline.shape).size(), largest);
  fmt::print("arena of the largest rank {} bytes\n", largest_arena(program));
  fmt::print("all {:.3f} s, at most {:.1f} MiB resident\n", made, static_cast<double>(usage.ru_maxrss) / 1024);
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(argc, argv, "MODEL [KEY=VALUE]...", /*required=*/1, partita::run);
}
