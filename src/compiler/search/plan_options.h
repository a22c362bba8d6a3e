#pragma once
// User options of a plan.

#include <functional>

#include "base/names.h"
#include "compiler/plan/block_sharding.h"
#include "compiler/plan/optimizer_sharding.h"
#include "compiler/plan/stage_annotation.h"
#include "compiler/search/search_kind.h"
#include "ir/orders/sequence.h"
#include "ir/sharding/annotation.h"

namespace partita {

class Mesh;
struct PlanCosts;

/// How the graph is parallelised.
/// none: every rank computes everything.
/// data: the batch is cut evenly, and parameters annotated layerwise are split.
/// hybrid: as data, with batches that may be uneven.
/// semi: annotations are binding; other nodes cut the batch.
/// auto: annotations are binding; a search cuts other nodes.
enum class Parallel { none, data, hybrid, semi, automatic };
constexpr auto value_names(Parallel) { return names("none", "data", "hybrid", "semi", "auto"); }

/// How inputs are cut under semi and auto parallelism.
struct DatasetSharding {
  /// data_parallel: their batch over all ranks. full_batch: not at all. strategy: as given.
  enum class Kind { data_parallel, full_batch, strategy };
  Kind kind = Kind::data_parallel;
  Strategy strategy{};  // one entry for each input that has a batch

  static DatasetSharding full_batch() { return {.kind = Kind::full_batch}; }
  bool operator==(const DatasetSharding&) const = default;
};
constexpr auto value_names(DatasetSharding::Kind) { return names("data_parallel", "full_batch", "strategy"); }
/// Text of the sharding: "data_parallel", "full_batch" or "((2, 4), (8))". `parse_dataset_sharding` reads it and throws
/// InvalidArgument for any other text.
std::string print(const DatasetSharding& sharding);
DatasetSharding parse_dataset_sharding(std::string_view text);

/// Whether a dimension that does not divide is cut into parts that differ by one, or refused.
enum class Uneven { allow, error };
constexpr auto value_names(Uneven) { return names("allow", "error"); }

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
  /// Bytes of values and of parameters' gradients that are moved, per byte that they have in the graph, for a search
  /// without `costs`. `make_plan` sets the first for a graph with the roundings of mixed precision.
  double value_share = 1, gradient_share = 1;
};

}  // namespace partita
