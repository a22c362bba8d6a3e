#pragma once
// Makes the plan of a graph on a mesh from the user's options.

#include <functional>

#include "base/names.h"
#include "compiler/plan/assign_stages.h"
#include "compiler/plan/block_sharding.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/shard_optimizer.h"
#include "compiler/search/plan_costs.h"
#include "compiler/search/search_kind.h"
#include "ir/graph/rules.h"
#include "ir/orders/sequence.h"

namespace partita {

/// How the graph is parallelised.
/// none: every rank computes everything.
/// data: the batch is cut evenly, and parameters annotated layerwise are split.
/// hybrid: as data, with batches that may be uneven.
/// semi: annotations are binding; other nodes cut the batch.
/// auto: annotations are binding; a search cuts other nodes.
enum class Parallel { none, data, hybrid, semi, automatic };
template <>
inline constexpr auto kNames<Parallel> = names("none", "data", "hybrid", "semi", "auto");

/// How inputs are cut under semi and auto parallelism.
struct DatasetSharding {
  /// data_parallel: their batch over all ranks. full_batch: not at all. strategy: as given.
  enum class Kind { data_parallel, full_batch, strategy };
  Kind kind = Kind::data_parallel;
  Strategy strategy{};  // one entry for each input that has a batch

  static DatasetSharding full_batch() { return {.kind = Kind::full_batch}; }
  bool operator==(const DatasetSharding&) const = default;
};
template <>
inline constexpr auto kNames<DatasetSharding::Kind> = names("data_parallel", "full_batch", "strategy");
/// Text of the sharding: "data_parallel", "full_batch" or "((2, 4), (8))". `parse_dataset_sharding` reads it and throws
/// InvalidArgument for any other text.
std::string print(const DatasetSharding& sharding);
DatasetSharding parse_dataset_sharding(std::string_view text);

/// Whether a dimension that does not divide is cut into parts that differ by one, or refused.
enum class Uneven { allow, error };
template <>
inline constexpr auto kNames<Uneven> = names("allow", "error");

/// A program in stages. Each runs on ranks of its own or, if interleaved, several run on the same ranks.
struct PipelineOptions {
  int64_t stages = 0;  // 0: as many as layers are annotated with; 1: no stages, whatever the annotations
  std::vector<StageAnnotation> stage_annotations{};  // in addition to those in the code of the network
  Order order = Order::one_forward_one_backward;
  int64_t interleave = 1;  // stages per group of ranks
};

/// User options of a plan.
struct PlanOptions {
  Parallel parallel = Parallel::data;
  Search search = Search::propagation;
  DatasetSharding dataset{};
  Uneven uneven = Uneven::allow;
  int64_t micro_batches = 1;  // micro-batches of a training step
  OptimizerSharding zero{};   // optimizer sharding of a training step
  PipelineOptions pipeline{};
  BlockSharding blocks{};  // sharding of transformer blocks, under auto parallelism
  /// Returns the costs that a search uses on a mesh; null: bytes.
  std::function<PlanCosts(const Mesh&)> costs = nullptr;
};

/// Whether the mode uses sharding annotations of nodes.
bool uses_annotations(Parallel parallel);

/// Returns the mesh of `ranks`: the first named layout among the annotations (if the mode uses them), else that of
/// block sharding, else a single axis; a mesh without axes for one rank. Throws InvalidArgument if the layout has
/// another number of ranks, or the blocks' sizes do not divide them.
Mesh make_mesh(const Graph& graph, int64_t ranks, const PlanOptions& options);

/// Returns a warning if the graph has annotations, the mode does not use them and there are several ranks, else "".
std::string ignored_annotations(const Graph& graph, const Mesh& mesh, const PlanOptions& options);

/// Returns the plan. Throws InvalidArgument, with the nearest legal choice, if the graph does not fit the mesh or
/// options contradict each other.
Plan make_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);
/// `rules` are those of the graph.
Plan make_plan(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);

}  // namespace partita
