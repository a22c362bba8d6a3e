#include "compile.h"

#include "partition/partition.h"
#include "partition/print_rank.h"

namespace partita {

Program compile(const Graph& forward, const OpSet& ops, const Mesh& mesh, const KernelCatalog& catalog,
                const CompileOptions& options) {
  Passes passes(options.passes);
  Program program;
  const auto verify_graph = [&](const Graph& graph) { verify(graph, ops); };
  const auto print_graph = [](const Graph& graph) { return print(graph); };

  program.graph = passes.stage(
      "graph", [&] { return forward; }, verify_graph, print_graph);
  if (options.training) {
    program.graph = passes.stage(
        "training",
        [&] {
          TrainingGraph training = make_training_graph(program.graph, ops, *options.training);
          program.warnings = std::move(training.warnings);
          return std::move(training.graph);
        },
        verify_graph, print_graph);
  } else {
    program.graph = passes.optional("remove_dead_nodes", std::move(program.graph), remove_dead_nodes);
  }
  if (std::string warning = ignored_marks(program.graph, mesh, options.plan); !warning.empty() && options.training) {
    program.warnings.push_back(std::move(warning));
  }
  program.plan = passes.stage(
      "plan",
      [&] {
        return options.own_plan ? options.own_plan(program.graph) : make_plan(program.graph, ops, mesh, options.plan);
      },
      [&](const Plan& plan) { verify(plan, program.graph, ops); },
      [&](const Plan& plan) { return print(plan, program.graph, ops); });
  const auto partition_options =
      passes.optional("partial_sums", PartitionOptions{.partial_sums = false}, [](PartitionOptions options) {
        options.partial_sums = true;
        return options;
      });
  program.local = passes.stage(
      "partition", [&] { return partition(program.graph, ops, program.plan, partition_options); },
      [&](const LocalGraph& local) { verify(local, ops); }, [&](const LocalGraph& local) { return print(local, ops); });
  for (int64_t rank = 0; rank < mesh.ranks() && passes.dumping(); ++rank) {
    passes.write(fmt::format("rank_{}/partition.txt", rank), print_rank(program.local, ops, rank));
  }
  program.schedule = passes.stage(
      "schedule", [&] { return make_schedule(program.local, ops, catalog, options.schedule); },
      [&](const Schedule& schedule) { verify(schedule, program.local); },
      [&](const Schedule& schedule) { return print(schedule, program.local); });
  passes.check_names();
  return program;
}

}  // namespace partita
