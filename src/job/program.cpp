#include "job/program.h"

#include "ops/registry.h"
#include "plan/outputs.h"

namespace partita {

namespace {

/// Each rank has statistics of its own of its rows, and of each micro-batch.
int64_t statistics_groups(const JobConfig& config, int64_t ranks) {
  return (cuts_batch_alone(config) ? ranks : 1) * config.plan.options.micro_batches;
}

}  // namespace

Program make_program(const JobConfig& config, const ProgramRequest& request) {
  const bool training = request.purpose == Purpose::training;
  const bool local_statistics = training && config.training.batch_norm == BatchNormStatistics::local;
  CompileOptions options{.ranks = request.ranks,
                         .plan = config.plan.options,
                         .annotations = config.plan.annotations,
                         .last = request.last};
  if (!training) {
    options.plan.micro_batches = 1;
    options.plan.zero = {};
    options.plan.pipeline = {.stages = 1};
  }
  if (training) {
    options.training = TrainingOptions{.optimizer = config.optimizer, .recompute = config.plan.recompute};
    if (config.training.gradients == GradientReduction::sum) {
      options.training->gradient_factor = static_cast<double>(request.ranks);
    }
    options.passes = {.dump_dir = config.files.dump, .switched_off = config.plan.passes_switched_off};
  }
  if (request.purpose == Purpose::evaluation) {
    options.own_plan = [&](const Graph& graph, int64_t ranks) {
      const Mesh mesh = make_mesh(graph, ranks, config.plan.options);
      return with_logits_in_rows(make_plan(graph, all_ops(), mesh, config.plan.options), graph, all_ops());
    };
  }
  const BuildOptions build{.batch = request.batch,
                           .columns = request.columns,
                           .dtype = config.training.dtype,
                           .purpose = request.purpose,
                           .statistics_groups = local_statistics ? statistics_groups(config, request.ranks) : 1,
                           .seed = config.training.seed};
  const auto device = make_cpu_device(all_ops(), config.ranks.threads, config.ranks.kernels);
  device->enter_thread();
  Program program =
      compile([&] { return build_graph(request.network, all_ops(), build); }, all_ops(), device->catalog(), options);
  if (options.own_plan && request.last >= Stage::plan) {
    std::string warning = ignored_annotations(program.graph, program.plan().mesh, config.plan.options);
    if (!warning.empty()) program.warnings.push_back(std::move(warning));
  }
  return program;
}

}  // namespace partita
