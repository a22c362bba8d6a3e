#include "planner/pricing/layers/network_lowering.h"

#include <algorithm>
#include <utility>

#include "ir/work/node_work.h"
#include "planner/cluster/collective_seconds.h"
#include "planner/pricing/layers/cluster_costs.h"
#include "planner/pricing/layers/stage_layers.h"

namespace partita {
namespace {

constexpr ptrdiff_t kSqueezedClasses = 2;  // classes of links for squeezed cuts: each level of them is searched anew
constexpr double kMinExposed = 0.1;        // share of gradient sums: the last ones come after the backward pass

}  // namespace

int64_t rows_of(const Graph& forward) {
  for (const Input& input : forward.inputs) {
    if (input.batch_dim >= 0) return forward.type(input.value).shape[static_cast<size_t>(input.batch_dim)];
  }
  throw InvalidArgument("[plan] no input with a batch, got none, expected one that counts rows");
}

NetworkLowering::NetworkLowering(const Graph& forward, const OpSet& ops, const Cluster& cluster, NetworkOptions options)
    : options_(std::move(options)),
      folded_(options_.fold ? fold_layers(forward, Rules(forward, ops)) : units_of(forward, Rules(forward, ops))),
      recomputable_(recomputable_units(folded_, ops)),
      batch_(rows_of(forward)),
      lowering_(folded_.graph, ops, options_.training),
      parts_(cluster) {}

double NetworkLowering::attention_share() {
  if (attention_share_) return *attention_share_;
  const Graph& graph = folded_.graph;
  const Rules rules(graph, lowering_.rules());
  const std::vector<Sharding> whole(graph.values.size());
  double attention = 0, all = 0;
  for (const FoldedUnit& unit : folded_.units) {
    for (size_t n = unit.begin; n < unit.end; ++n) {
      const Work work = work_of(graph, rules, n, Cut(rules[n].factors.size()), whole, Mesh());
      const double flops = static_cast<double>(unit.count) * work.flops;
      all += flops;
      if (work.kind == WorkKind::attention) attention += flops;
    }
  }
  return *(attention_share_ = all > 0 ? attention / all : 0);
}

LoweringKey NetworkLowering::key_of(const Configuration& configuration) const {
  return {.tensor = configuration.tensor,
          .context = configuration.context,
          .cuts = configuration.cuts,
          .squeeze = configuration.squeeze,
          .links = configuration.links,
          .sequence_parallel = configuration.sequence_parallel,
          .recompute = configuration.recompute.all,
          .part = parts_.number_of(configuration.ranks())};
}

int64_t NetworkLowering::groups_of(const Configuration& configuration) {
  const Places& places = parts_.of(parts_.number_of(configuration.ranks())).places;
  return places.fewest_alike(configuration.data * configuration.pipeline, configuration.context * configuration.tensor);
}

Mesh NetworkLowering::busy_mesh(const LoweringKey& key, int64_t groups) const {
  return Mesh({{"data", groups}, {"context", key.context}, {"tensor", key.tensor}});
}

int64_t NetworkLowering::min_rows(const LoweringKey& key) const {
  if (key.cuts == TensorCuts::blocks && !options_.own_plan) return 1;
  int64_t rows = std::min(key.tensor, batch_);
  while (batch_ % rows != 0) ++rows;
  return rows;
}

/// Returns the factor by which gradient sums count in a search of cuts: the share of their time that the backward pass
/// does not hide, times `max_groups`. The share is at least kMinExposed and assumes that all ranks of the axis `tensor`
/// cut the batch. The factor has the groups since the graph has the rows of all groups while each group computes only
/// its own. One search serves any number of groups, so that prices do not depend on idle ranks. A search for fewer
/// groups would cut the batch over ranks of `tensor` instead; a configuration with more ranks of `data` has such a cut,
/// too. Throws InvalidArgument if the network cannot be lowered for one rank, or the cluster has too few ranks.
double NetworkLowering::exposed_gradients(const LoweringKey& key) {
  const double groups = max_groups(key);
  const double rows = static_cast<double>(batch_) / groups / static_cast<double>(key.tensor);
  BusyRanks& part = parts_.of(key.part);
  const LayerCosts& costs = layer_costs({.part = key.part}, 1, 1);
  double backward = 0, parameters = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const auto count = static_cast<double>(folded_.units[u].count);
    backward += count * rows * costs.units[u].backward.compute;
    parameters += count * costs.units[u].parameters;
  }
  const GroupPlace& place = part.places.tensor({.tensor = key.tensor}, 0);
  const double sent = options_.precision.sent_gradient;
  const double sums = seconds_of(Collective::all_reduce, parameters * sent, place, part.cluster, summed_dtype(sent));
  return groups * std::max(kMinExposed, 1 - backward / sums);
}

int64_t NetworkLowering::lowered_rows(const LoweringKey& key) const {
  const int64_t least = min_rows(key);
  // Only a program of several micro-batches tells what grows with their rows.
  for (int64_t count = 2; least == batch_ && count <= batch_; ++count) {
    if (batch_ % count == 0) return batch_ / count;
  }
  if (batch_ / least <= kMaxMicroBatches) return least;
  for (int64_t count = kMaxMicroBatches; count > 1; --count) {
    if (batch_ % (count * least) == 0) return batch_ / count;
  }
  throw InvalidArgument("[--batch] the rows do not divide into 2 to {} micro-batches, got {}, expected {}",
                        kMaxMicroBatches, batch_, batch_ / kMaxMicroBatches * kMaxMicroBatches);
}

void NetworkLowering::require_search() const {
  if (searches() || options_.own_plan) return;
  throw InvalidArgument(
      "[--search] cuts=searched needs a search, got propagation, expected dynamic, recursive or exact, or cuts=blocks");
}

/// Returns the costs by the class of links, so that neither they nor the cuts depend on bandwidths. Throws
/// InvalidArgument if the cluster has too few ranks.
PlanCosts NetworkLowering::costs_of_links(const LoweringKey& key, const Mesh& mesh) {
  return costs_of_link_class(key.links, mesh, parts_.of(key.part).cluster, options_.precision, max_groups(key));
}

std::vector<int64_t> NetworkLowering::links(const Configuration& configuration) {
  const LoweringKey key = key_of({.context = configuration.context, .tensor = configuration.tensor});
  std::vector<int64_t>& classes = links_[key];
  if (classes.empty())
    classes = link_classes(Mesh::undivided({{"all", key.tensor}}), parts_.of(key.part).cluster, options_.precision);
  if (configuration.squeeze == 0) return classes;
  return {classes.begin(), classes.begin() + kSqueezedClasses};
}

PlanOptions NetworkLowering::plan_options(const LoweringKey& key) {
  PlanOptions options;
  options.pipeline.stages = 1;
  if (key.tensor * key.context == 1) return options;
  options.parallel = Parallel::automatic;
  options.blocks = blocks_of(key);
  if (key.cuts == TensorCuts::searched) {
    require_search();
    options.search = options_.search;
    const double kept_share = static_cast<double>(min_rows(key)) / static_cast<double>(batch_);
    const double share = key.links > 0 ? 0 : exposed_gradients(key);
    options.costs = [this, key, share, kept_share](const Mesh& mesh) {
      PlanCosts costs = key.links > 0 ? costs_of_links(key, mesh)
                                      : cluster_costs(mesh, parts_.of(key.part).cluster, options_.precision, share);
      costs.kept_share = kept_share;  // for the smallest micro-batch
      return costs;
    };
  }
  return options;
}

/// Returns the decisions of the search for a key with searched cuts, made on first use. Throws InvalidArgument if the
/// network cannot be cut so, or the policy finds nothing to recompute.
const PartialPlan& NetworkLowering::searched_cuts(const LoweringKey& key) {
  if (const auto cached = searched_cuts_.find(key); cached != searched_cuts_.end()) return cached->second;
  const int64_t ranks = key.tensor * key.context;
  if (key.recompute == Recompute::none)
    return searched_cuts_.emplace(key, lowering_.searched_cuts(ranks, plan_options(key))).first->second;
  LoweringKey kept = key;
  kept.recompute = Recompute::none;
  const PartialPlan& cuts = searched_cuts(kept);
  return searched_cuts_.emplace(key, lowering_.recomputed_cuts(key.recompute, ranks, plan_options(key), cuts))
      .first->second;
}

const LoweringKey& NetworkLowering::alike(const LoweringKey& key) {
  if (const auto cached = alike_.find(key); cached != alike_.end()) return cached->second;
  LoweringKey first = key;
  if (is_searched(key)) {
    const PartialPlan& cuts = searched_cuts(key);
    for (first.links = 0; first.links < key.links; ++first.links) {
      const auto other = searched_cuts_.find(first);
      if (other != searched_cuts_.end() && other->second == cuts) break;
    }
    first = alike_.contains(first) ? alike_.at(first) : first;
  }
  return alike_.emplace(key, first).first->second;
}

const LoweredLayers& NetworkLowering::lowered_layers(const LoweringKey& key) {
  if (const auto refused = refused_.find(key); refused != refused_.end()) throw refused->second;
  try {
    const LoweringKey& own = alike(key);
    if (const auto cached = layer_cache_.find(own); cached != layer_cache_.end()) return cached->second;
    return layer_cache_.emplace(own, lower(own, folded_)).first->second;
  } catch (const InvalidArgument& error) {
    refused_.emplace(key, error);
    throw;
  }
}

LayerCosts NetworkLowering::costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units) {
  const FoldedGraph folded{folded_.graph, std::move(units)};
  const LoweringKey key = key_of(configuration);
  return lower(key, folded)
      .costs(configuration.micro_batch, parts_.of(key.part).cluster, busy_mesh(key, groups_of(configuration)));
}

LoweredLayers NetworkLowering::lower(const LoweringKey& key, const FoldedGraph& folded) {
  LoweringOptions options{.ranks = key.tensor * key.context, .plan = plan_options(key), .recompute = key.recompute};
  if (options.ranks > 1) options.own_plan = options_.own_plan;
  if (is_searched(key)) options.cuts = &searched_cuts(key);
  const int64_t rows = lowered_rows(key);
  options.plan.micro_batches = batch_ / rows;
  const LocalGraph local = lowering_.lower(options);
  return LoweredLayers({.folded = folded,
                        .local = local,
                        .rows = rows,
                        .rules = lowering_.rules(),
                        .cluster = parts_.of(key.part).cluster,
                        .precision = options_.precision,
                        .recompute = key.recompute});
}

const LayerCosts& NetworkLowering::layer_costs(const LoweringKey& key, int64_t groups, int64_t micro_batch) {
  const auto cached = alike_.find(key);
  const std::tuple of(cached == alike_.end() ? key : cached->second, groups, micro_batch);
  const auto found = costs_.find(of);
  if (found != costs_.end()) return found->second;
  const LoweredLayers& layers = lowered_layers(key);
  LayerCosts costs = layers.costs(micro_batch, parts_.of(key.part).cluster, busy_mesh(key, groups));
  return costs_.emplace(std::tuple(alike(key), groups, micro_batch), std::move(costs)).first->second;
}

}  // namespace partita
