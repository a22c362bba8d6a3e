// partita partition: what each rank of a plan computes and sends, without running it.

#include "compiler/partition/partition.h"

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "ir/ops/registry.h"
#include "runtime/launch/place.h"
#include "training/configuration.h"

namespace partita {
namespace {

struct PartitionFlags {
  JobFlags job;
  int64_t rank = 0;
  bool forward = false, plan = false;
};

void run_partition(const PartitionFlags& flags) {
  const ZooJob job(configuration(flags.job), this_place().alone());
  if (printed_config(flags.job, job.config())) return;
  check_range("--rank", flags.rank, 0, job.config().ranks.count - 1);
  const Purpose purpose = flags.forward ? Purpose::evaluation : Purpose::training;
  const Program program = job.program(purpose, flags.plan ? Stage::plan : Stage::partition);
  for (const std::string& warning : program.warnings) warn(warning);
  std::cout << (flags.plan
                    ? print_stages(program.pipeline, program.stages,
                                   [](const StageProgram& stage) { return print(stage.plan, stage.graph, all_ops()); })
                    : print_rank(program, all_ops(), flags.rank));
}

}  // namespace

void add_partition(CLI::App& app) {
  const auto flags = std::make_shared<PartitionFlags>();
  CLI::App* command =
      add_command(app, "partition", "Print what one rank of a training computes and sends, without running it", flags,
                  run_partition);
  add_job_flags(*command, flags->job, decides_program);
  command->add_option("--rank", flags->rank, "The rank to print")->capture_default_str();
  command->add_flag("--forward", flags->forward, "Without gradients and updates");
  command->add_flag("--print-plan", flags->plan, "Print the plan of each stage instead");
  command->footer("Example: partita partition mlp --ranks 8 --parallel auto --shard 'net/fc1/matmul=((2,1),(4,1))'");
}

}  // namespace partita
