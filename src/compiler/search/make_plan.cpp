#include "compiler/search/make_plan.h"

#include <algorithm>

#include "compiler/plan/annotations.h"
#include "compiler/plan/cut_blocks.h"
#include "compiler/search/data_parallel.h"
#include "compiler/search/plain_graph.h"
#include "compiler/search/propagation.h"
#include "compiler/search/search_cuts.h"
#include "compiler/search/search_tensor_cuts.h"
#include "ir/sharding/strategy.h"

namespace partita {
namespace {

// Returns the plan in which every rank computes everything.
Plan replicated_plan(const Graph& graph, const Rules& rules, const Mesh& mesh) {
  PartialPlan partial(graph);
  for (size_t s = 0; s < graph.states.size(); ++s) partial.states[s].emplace(graph.type(graph.states[s].entry).rank());
  return complete_plan(graph, rules, mesh, "none", std::move(partial));
}

/// Returns the shardings of all inputs under `options.dataset`; those without a batch are not cut. Throws
/// InvalidArgument if the strategy does not fit the inputs or the mesh, and if the mesh lacks an axis of block sharding
/// or has it in another size.
std::vector<std::vector<Axes>> dataset_dims(const Graph& graph, const Mesh& mesh, const PlanOptions& options) {
  const auto& [dataset, blocks] = std::tie(options.dataset, options.blocks);
  std::vector<std::vector<Axes>> dims = PartialPlan(graph).inputs;
  std::vector<size_t> batched;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].batch_dim >= 0) batched.push_back(i);
  }
  if (dataset.kind == DatasetSharding::Kind::full_batch) return dims;
  if (dataset.kind == DatasetSharding::Kind::data_parallel) {
    const BlockAxes axes = block_axes(mesh, blocks);
    Axes other = axes.context;
    other.insert(other.end(), axes.tensor.begin(), axes.tensor.end());
    for (size_t i : batched) {
      const ValueId value = graph.inputs[i].value;
      const int dim = graph.inputs[i].batch_dim;
      const Shape& shape = graph.type(value).shape;
      dims[i][dim] = batch_axes(shape[dim], mesh, other);
      const bool is_sequence = dim == 0 && shape.size() == 2 && mesh.ways(axes.context) <= shape[1];
      if (is_sequence) dims[i][1] = axes.context;
    }
    return dims;
  }
  const Strategy& strategy = dataset.strategy;
  if (strategy.size() != batched.size()) {
    throw InvalidArgument("[dataset strategy] wrong number of inputs, got {} in {}, expected {}", strategy.size(),
                          print(strategy), batched.size());
  }
  for (size_t b = 0; b < batched.size(); ++b) {
    const ValueId value = graph.inputs[batched[b]].value;
    const std::vector<Type> types{graph.type(value)};
    const Attrs none;
    const ShardingRule rule = pointwise_rule({none, types, types});
    const CutTarget target{fmt::format("dataset strategy of '{}'", graph.values[value].name), rule, types, types};
    dims[batched[b]] = dims_from_factors(rule, cut_of({.inputs = {strategy[b]}}, target, mesh).cut, rule.inputs[0]);
  }
  return dims;
}

CutSearch cut_search(const Mesh& mesh, const PlanOptions& options) {
  return {.kind = options.search,
          .costs =
              options.costs ? options.costs(mesh) : PlanCosts::bytes(mesh, options.value_share, options.gradient_share),
          .uneven = options.uneven == Uneven::allow,
          .squeeze = options.blocks.squeeze};
}

/// Returns what annotations and the options of inputs decide. Throws as `make_plan` does for these.
PartialPlan binding_plan(const Graph& graph, const Rules& rules, const Mesh& mesh, const PlanOptions& options) {
  PartialPlan partial = partial_plan_of_annotations(graph, rules, mesh);
  partial.inputs = dataset_dims(graph, mesh, options);
  return partial;
}

Plan searched_plan(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                   const PlanOptions& options, PartialPlan partial) {
  if (options.search == Search::propagation) return propagate(graph, rules, mesh, std::move(partial));
  FoundCuts found = search_cuts(graph, rules, ops, mesh, partial, cut_search(mesh, options));
  return complete_plan(graph, rules, mesh, std::string(name_of(options.search)), std::move(found.partial));
}

Plan annotated_plan(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh,
                    const PlanOptions& options) {
  if (options.blocks.any() && options.blocks.searched) {
    return complete_plan(graph, rules, mesh, std::string(name_of(options.search)),
                         searched_blocks(ForwardNodes(graph, rules, ops), mesh, options));
  }
  PartialPlan partial = binding_plan(graph, rules, mesh, options);
  if (options.blocks.any()) partial = cut_blocks(graph, rules, mesh, options.blocks, std::move(partial));
  if (options.parallel == Parallel::automatic) {
    return searched_plan(graph, rules, ops, mesh, options, std::move(partial));
  }
  const Plan batch = data_parallel_plan(graph, rules, mesh, {.uneven = true, .layerwise = false});
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].phase == Phase::forward && !partial.cuts[n]) partial.cuts[n] = batch.cuts[n];
  }
  return complete_plan(graph, rules, mesh, "semi", std::move(partial));
}

/// Returns the largest divisor of `size` up to `parts` and the smallest one from there on, if there is one, for a
/// message: "2 or 4".
std::string nearest_divisors(int64_t size, int64_t parts) {
  int64_t below = parts, above = parts;
  while (size % below != 0) --below;
  while (above <= size && size % above != 0) ++above;
  return above <= size ? fmt::format("{} or {}", below, above) : fmt::format("{}", below);
}

void refuse_uneven(const Plan& plan, const Graph& graph, const Rules& rules) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ShardingRule& rule = rules[n];
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const int64_t parts = plan.mesh.ways(plan.cuts[n][f]), size = rule.factors[f].size;
      if (size % parts == 0) continue;
      throw InvalidArgument("[plan] {} is cut unevenly, got {} parts of a dimension of {}, expected {}",
                            describe(graph.nodes[n]), parts, size, nearest_divisors(size, parts));
    }
  }
}

}  // namespace

std::string print(const DatasetSharding& sharding) {
  return sharding.kind == DatasetSharding::Kind::strategy ? print(sharding.strategy)
                                                          : std::string(name_of(sharding.kind));
}

DatasetSharding parse_dataset_sharding(std::string_view text) {
  if (text.starts_with("(")) return {DatasetSharding::Kind::strategy, parse_strategy(text)};
  const std::vector<std::string> names{"data_parallel", "full_batch"};
  return {static_cast<DatasetSharding::Kind>(position_of_name("dataset strategy", text, names))};
}

bool uses_annotations(Parallel parallel) { return parallel == Parallel::semi || parallel == Parallel::automatic; }

Mesh make_mesh(const Graph& graph, int64_t ranks, const PlanOptions& options) {
  if (ranks == 1) return Mesh();
  if (uses_annotations(options.parallel)) {
    for (const Node& node : graph.nodes) {
      if (!node.annotation || !node.annotation->named()) continue;
      Mesh mesh(node.annotation->axes, node.annotation->rank_list);
      if (mesh.ranks() == ranks) return mesh;
      throw InvalidArgument("[shard] {}: the layout is for another number of ranks, got {}, expected {}",
                            describe(node), mesh.ranks(), ranks);
    }
    if (options.blocks.any()) return block_mesh(ranks, options.blocks);
    return Mesh({{"ranks", ranks}});
  }
  return Mesh({{"data", ranks}});
}

std::string ignored_annotations(const Graph& graph, const Mesh& mesh, const PlanOptions& options) {
  if (uses_annotations(options.parallel) || !has_annotations(graph) || mesh.ranks() == 1) return "";
  return fmt::format("[plan] annotations of nodes are ignored, got --parallel {}, expected semi or auto",
                     name_of(options.parallel));
}

PartialPlan searched_blocks(const ForwardNodes& nodes, const Mesh& mesh, const PlanOptions& options) {
  const Axes tensor = block_axes(mesh, options.blocks).tensor;
  return search_tensor_cuts(nodes, mesh, tensor, cut_search(one_axis(mesh, tensor), options),
                            binding_plan(nodes.graph(), nodes.rules(), mesh, options));
}

Plan make_plan(const Graph& graph, const OpSet& ops, const Mesh& mesh, const PlanOptions& options) {
  return make_plan(graph, Rules(graph, ops), ops, mesh, options);
}

Plan make_plan(const Graph& graph, const Rules& rules, const OpSet& ops, const Mesh& mesh, const PlanOptions& options) {
  if (mesh.ranks() > 1 && uses_annotations(options.parallel) && has_roundings(graph, ops)) {
    const Graph plain = without_roundings(graph, ops);
    PlanOptions priced = options;
    priced.value_share = share_of_rounded(graph, ops);
    return with_roundings(make_plan(plain, ops, mesh, priced), plain, graph, rules);
  }
  const bool may_be_uneven = options.uneven == Uneven::allow;
  if (options.blocks.sequence && options.blocks.tensor == 1) {
    throw InvalidArgument(
        "[--sequence-parallel] has no effect, got no --tensor-parallel, expected --tensor-parallel 2 or more");
  }
  if (options.blocks.any() && options.parallel != Parallel::automatic) {
    throw InvalidArgument("[{}] cuts more than the batch, got --parallel {}, expected --parallel auto",
                          options.blocks.tensor > 1 ? "--tensor-parallel" : "--context-parallel",
                          name_of(options.parallel));
  }
  const auto make = [&] {
    if (mesh.ranks() == 1) return replicated_plan(graph, rules, mesh);
    switch (options.parallel) {
      case Parallel::data:
        return data_parallel_plan(graph, rules, mesh, {.instead = may_be_uneven ? "--parallel hybrid" : ""});
      case Parallel::hybrid:
        return data_parallel_plan(graph, rules, mesh, {.uneven = may_be_uneven, .instead = "--uneven allow"});
      case Parallel::semi:
      case Parallel::automatic: return annotated_plan(graph, rules, ops, mesh, options);
      case Parallel::none: break;
    }
    return replicated_plan(graph, rules, mesh);
  };
  Plan plan = make();
  if (options.uneven == Uneven::error) refuse_uneven(plan, graph, rules);
  return plan;
}

}  // namespace partita
