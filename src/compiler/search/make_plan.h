#pragma once
// Graph + mesh + options -> Plan.

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

/// none: every rank computes everything. data: the batch is cut, evenly, and parameters that are annotated
/// layerwise are split. hybrid: the same with batches that may be uneven. semi: annotations are binding, other nodes
/// cut the batch. auto: annotations are binding, other nodes as a search finds.
enum class Parallel { none, data, hybrid, semi, automatic };
template <>
inline constexpr auto kNames<Parallel> = names("none", "data", "hybrid", "semi", "auto");

/// How inputs are cut under semi and automatic parallelism.
struct DatasetSharding {
  /// data_parallel: their batch over all ranks. full_batch: not at all. strategy: as it says.
  enum class Kind { data_parallel, full_batch, strategy };
  Kind kind = Kind::data_parallel;
  Strategy strategy{};  // one entry for each input that has a batch

  static DatasetSharding full_batch() { return {.kind = Kind::full_batch}; }
  bool operator==(const DatasetSharding&) const = default;
};
template <>
inline constexpr auto kNames<DatasetSharding::Kind> = names("data_parallel", "full_batch", "strategy");
/// "data_parallel", "full_batch" or "((2, 4), (8))"; parse_dataset_sharding reads it back and throws InvalidArgument.
std::string print(const DatasetSharding& sharding);
DatasetSharding parse_dataset_sharding(std::string_view text);

/// A dimension that does not divide into its parts is cut into parts that differ by one, or refused.
enum class Uneven { allow, error };
template <>
inline constexpr auto kNames<Uneven> = names("allow", "error");

/// A program in stages, each on ranks of its own or, interleaved, several on the same ranks.
struct PipelineOptions {
  int64_t stages = 0;              // 0: as many as layers say; 1: none, whatever they say
  std::vector<StageMark> marks{};  // in addition to those in the code of the network
  Order order = Order::one_forward_one_backward;
  int64_t interleave = 1;  // stages of each group of ranks
};

/// What the user chooses of a plan.
struct PlanOptions {
  Parallel parallel = Parallel::data;
  Search search = Search::propagation;
  DatasetSharding dataset{};
  Uneven uneven = Uneven::allow;
  int64_t micro_batches = 1;  // of a training step
  OptimizerSharding zero{};   // of a training step
  PipelineOptions pipeline{};
  BlockSharding blocks{};  // of transformers, under automatic parallelism
  /// What a search counts on a mesh; none: bytes.
  std::function<PlanCosts(const Mesh&)> costs = nullptr;
};

/// Whether the mode reads the annotations of nodes.
bool uses_annotations(Parallel parallel);

/// The ranks as the first named layout among the annotations arranges them, or as the sharding of blocks does, or as
/// one axis when there is neither. Throws InvalidArgument when the layout has another number of ranks.
Mesh make_mesh(const Graph& graph, int64_t ranks, const PlanOptions& options);

/// A warning for a graph whose annotations the mode does not read; "" when there are none.
std::string ignored_annotations(const Graph& graph, const Mesh& mesh, const PlanOptions& options);

/// Throws InvalidArgument when the graph does not fit the mesh, naming the nearest legal choice.
Plan make_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);
/// With the rules of the graph, where they are known.
Plan make_plan(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh, const PlanOptions& options);

}  // namespace partita
