#include "compile.h"

#include "lowering/cut_micro_batches.h"
#include "partition/partition.h"
#include "partition/print_rank.h"

namespace partita {
namespace {

/// Without outputs such as logits, of which a step in micro-batches would have to keep all rows.
Graph with_scalar_outputs(Graph graph) {
  std::erase_if(graph.outputs, [&](const Output& output) { return graph.type(output.value).rank() > 0; });
  return remove_dead_nodes(graph);
}

/// The stages one after another, each from what the ones before made.
class Flow {
 public:
  Flow(const OpSet& ops, const KernelCatalog& catalog, const CompileOptions& options)
      : ops_(ops), catalog_(catalog), options_(options), passes_(options.passes) {}

  Program run(const std::function<Graph()>& forward) {
    make_graph(forward);
    if (reaches(Stage::training)) make_training();
    if (reaches(Stage::plan)) make_plan();
    if (reaches(Stage::partition)) make_partition();
    if (reaches(Stage::schedule)) make_schedule();
    if (options_.last == Stage::schedule) passes_.check_names();
    program_.times = passes_.times();
    return std::move(program_);
  }

 private:
  bool reaches(Stage stage) const { return options_.last >= stage; }

  template <class Make>
  void graph_stage(const std::string& name, const Make& make) {
    program_.graph = passes_.stage(
        name, make, [&](const Graph& graph) { verify(graph, ops_); }, [](const Graph& graph) { return print(graph); });
  }

  void make_graph(const std::function<Graph()>& forward) {
    graph_stage("graph", [&] {
      Graph graph = forward();
      annotate_nodes(graph, options_.annotations);
      return graph;
    });
  }

  void make_training() {
    if (!options_.training) {
      program_.graph = passes_.optional("remove_dead_nodes", std::move(program_.graph), remove_dead_nodes);
      return;
    }
    graph_stage("training", [&] {
      TrainingGraph training = make_training_graph(program_.graph, ops_, *options_.training);
      program_.warnings = std::move(training.warnings);
      return options_.plan.micro_batches > 1 ? with_scalar_outputs(std::move(training.graph))
                                             : std::move(training.graph);
    });
  }

  void make_plan() {
    const Mesh mesh = options_.mesh ? *options_.mesh : make_mesh(program_.graph, options_.ranks, options_.plan);
    std::string warning = options_.own_plan ? "" : ignored_annotations(program_.graph, mesh, options_.plan);
    if (!warning.empty()) program_.warnings.push_back(std::move(warning));
    program_.plan = passes_.stage(
        "plan",
        [&] {
          Plan plan = options_.own_plan ? options_.own_plan(program_.graph)
                                        : partita::make_plan(program_.graph, ops_, mesh, options_.plan);
          const PlanOptions& options = options_.plan;
          if (options.micro_batches == 1 && options.zero.level == 0) return plan;
          const Rules rules(program_.graph, ops_);
          plan = shard_optimizer(std::move(plan), program_.graph, rules, options.zero);
          return cut_micro_batches(std::move(plan), program_.graph, rules, options.micro_batches);
        },
        [&](const Plan& plan) { verify(plan, program_.graph, ops_); },
        [&](const Plan& plan) { return print(plan, program_.graph, ops_); });
  }

  void make_partition() {
    const auto options =
        passes_.optional("partial_sums", ReshardOptions{.partial_sums = false}, [](ReshardOptions partial) {
          partial.partial_sums = true;
          return partial;
        });
    ReshardedGraph resharded = passes_.part(
        "reshard", [&] { return insert_reshards(program_.graph, ops_, program_.plan, options); },
        [&](const ReshardedGraph& graph) { verify(graph, ops_); },
        [&](const ReshardedGraph& graph) { return print(graph, ops_); });
    program_.local = passes_.stage(
        "partition", [&] { return partition(std::move(resharded)); },
        [&](const LocalGraph& local) { verify(local, ops_); },
        [&](const LocalGraph& local) { return print(local, ops_); });
    for (int64_t rank = 0; rank < program_.local.mesh.ranks() && passes_.dumping(); ++rank) {
      passes_.write(fmt::format("rank_{}/partition.txt", rank), print_rank(program_.local, ops_, rank));
    }
  }

  void make_schedule() {
    program_.schedule = passes_.stage(
        "schedule", [&] { return partita::make_schedule(program_.local, ops_, catalog_, options_.schedule); },
        [&](const Schedule& schedule) { verify(schedule, program_.local); },
        [&](const Schedule& schedule) { return print(schedule, program_.local); });
  }

  const OpSet& ops_;
  const KernelCatalog& catalog_;
  const CompileOptions& options_;
  Passes passes_;
  Program program_;
};

}  // namespace

Program compile(const std::function<Graph()>& forward, const OpSet& ops, const KernelCatalog& catalog,
                const CompileOptions& options) {
  return Flow(ops, catalog, options).run(forward);
}

Program compile(const Graph& forward, const OpSet& ops, const KernelCatalog& catalog, const CompileOptions& options) {
  return compile([&] { return forward; }, ops, catalog, options);
}

}  // namespace partita
