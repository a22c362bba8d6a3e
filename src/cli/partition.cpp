// partita partition: what each rank of a plan computes and sends, without running it.

#include "partition/partition.h"

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "ops/registry.h"
#include "partition/print_rank.h"

namespace partita {
namespace {

constexpr int64_t kMostPlannedRanks = 1 << 20;  // nothing is run

struct PartitionFlags {
  std::string model;
  int64_t ranks = 1, rank = 0;
  std::string batch;  // "": the recipe's
  bool forward = false, plan = false, no_partial_sums = false;
  PlanFlags split;
};

void run_partition(const PartitionFlags& flags) {
  check_range("--ranks", flags.ranks, 1, kMostPlannedRanks);
  check_range("--rank", flags.rank, 0, flags.ranks - 1);
  const Recipe recipe = make_model(flags.model).recipe;
  const PlanOptions options = plan_options(flags.split, flags.ranks, recipe.parallel);
  const bool local_norms = options.parallel == "data" || options.parallel == "hybrid";
  Graph graph = model_graph(flags.model, flags.batch.empty() ? 0 : batch_of(flags.batch), local_norms ? flags.ranks : 1,
                            /*training=*/true);
  for (const NodeMark& mark : node_marks(flags.split)) mark_nodes(graph, mark);
  if (!flags.forward) graph = make_training_graph(graph, all_ops(), {.optimizer = recipe.optimizer}).graph;
  const Plan plan = make_plan(graph, all_ops(), make_mesh(graph, flags.ranks, options), options);
  verify(plan, graph, all_ops());
  if (flags.plan) {
    std::cout << print(plan, graph, all_ops());
    return;
  }
  const LocalGraph local = partition(graph, all_ops(), plan, {.partial_sums = !flags.no_partial_sums});
  std::cout << print_rank(local, all_ops(), flags.rank);
}

}  // namespace

void add_partition(CLI::App& app) {
  const auto flags = std::make_shared<PartitionFlags>();
  CLI::App* command =
      app.add_subcommand("partition", "Print what one rank of a training computes and sends, without running it");
  command->add_option("MODEL", flags->model, "As for train")->required();
  command->add_option("--ranks", flags->ranks, "Ranks that the model is split over")->capture_default_str();
  command->add_option("--rank", flags->rank, "The rank whose part is printed")->capture_default_str();
  command->add_option("--batch", flags->batch, "Rows of the global batch; the recipe's when not given")
      ->type_name("INT");
  command->add_flag("--forward", flags->forward, "Without gradients and updates");
  command->add_flag("--plan", flags->plan, "Print the plan instead");
  command->add_flag("--no-partial-sums", flags->no_partial_sums, "Reduce every sum over ranks right where it arises");
  add_plan_flags(*command, flags->split);
  command->footer("Example: partita partition mlp --ranks 8 --parallel auto --shard 'net/fc1/matmul=((2,1),(4,1))'");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_partition(*flags);
  });
}

}  // namespace partita
