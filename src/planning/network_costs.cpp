#include "planning/network_costs.h"

#include "cluster/collective_seconds.h"
#include "planning/cluster_costs.h"
#include "planning/simulate_step.h"

namespace partita {
namespace {

constexpr size_t kMostStagesKept = 4096;  // that are kept, of a search
constexpr double kLeastExposed = 0.1;     // of sums of gradients: the last ones come behind the backward

}  // namespace

int64_t rows_of(const Graph& forward) {
  for (const Input& input : forward.inputs) {
    if (input.batch_dim >= 0) return forward.type(input.value).shape[static_cast<size_t>(input.batch_dim)];
  }
  throw InvalidArgument("[plan] no input with a batch, got none, expected one that counts rows");
}

NetworkCosts::NetworkCosts(const Graph& forward, const OpSet& ops, const Cluster& cluster, NetworkOptions options)
    : options_(std::move(options)),
      folded_(options_.fold ? fold_layers(forward, Rules(forward, ops)) : units_of(forward, Rules(forward, ops))),
      batch_(rows_of(forward)),
      lowering_(folded_.graph, ops, options_.training),
      parts_(cluster) {}

NetworkCosts::Key NetworkCosts::key_of(const Configuration& configuration) const {
  return {.tensor = configuration.tensor,
          .context = configuration.context,
          .cuts = configuration.cuts,
          .squeeze = configuration.squeeze,
          .links = configuration.links,
          .sequence_parallel = configuration.sequence_parallel,
          .recompute = configuration.recompute.all,
          .part = parts_.number_of(configuration.ranks())};
}

int64_t NetworkCosts::layers() const {
  size_t count = 0;
  for (const FoldedUnit& unit : folded_.units) count += unit.count;
  return static_cast<int64_t>(count);
}

int64_t NetworkCosts::repeated_layers() const {
  size_t count = 0;
  for (const FoldedUnit& unit : folded_.units) count += unit.is_copy ? unit.count : 0;
  return static_cast<int64_t>(count);
}

/// Groups of ranks that share their rows, as many of those at work as it takes for all to lie alike.
int64_t NetworkCosts::groups_of(const Configuration& configuration) {
  const Places& places = parts_.of(parts_.number_of(configuration.ranks())).places;
  return places.fewest_alike(configuration.data * configuration.pipeline, configuration.context * configuration.tensor);
}

Mesh NetworkCosts::busy_mesh(const Key& key, int64_t groups) const {
  return Mesh({{"data", groups}, {"context", key.context}, {"tensor", key.tensor}});
}

int64_t NetworkCosts::least_rows(const Key& key) const {
  if (key.cuts == TensorCuts::blocks && !options_.own_plan) return 1;
  int64_t rows = std::min(key.tensor, batch_);
  while (batch_ % rows != 0) ++rows;
  return rows;
}

/// Of sums of gradients over the ranks of `tensor`, if all of these cut the batch: what the backward does not hide. The
/// graph has the rows of all groups of ranks, of which one computes its own alone: to these sums weigh more. One search
/// serves any number of groups, so that a price knows nothing of ranks without work: as many as the batch allows, where
/// each rank has one row. What fewer groups would find, that the ranks of `data` share the batch finds, too.
double NetworkCosts::exposed_gradients(const Key& key) {
  const double groups = most_groups(key);
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
  const double sums = seconds_of(Collective::all_reduce, parameters * options_.precision.gradient, place, part.cluster);
  return groups * std::max(kLeastExposed, 1 - backward / sums);
}

/// Of a micro-batch that is lowered: what depends on the rows grows with them, whatever their number.
int64_t NetworkCosts::lowered_rows(const Key& key) const {
  const int64_t least = least_rows(key);
  if (batch_ / least <= kMostMicroBatches) return least;
  for (int64_t count = kMostMicroBatches; count > 1; --count) {
    if (batch_ % (count * least) == 0) return batch_ / count;
  }
  throw InvalidArgument(fmt::format("[--batch] the rows do not divide into 2 to {} micro-batches, got {}, expected {}",
                                    kMostMicroBatches, batch_, batch_ / kMostMicroBatches * kMostMicroBatches));
}

void NetworkCosts::require_search() const {
  if (searches() || options_.own_plan) return;
  throw InvalidArgument(
      "[--search] cuts=searched needs a search, got propagation, expected dynamic, recursive or exact, or cuts=blocks");
}

/// Costs that no bandwidth changes, so that cuts do not either: what links are is a class of them.
PlanCosts NetworkCosts::costs_of_links(const Key& key, const Mesh& mesh) {
  return costs_of_link_class(key.links, mesh, parts_.of(key.part).cluster, options_.precision, most_groups(key));
}

std::vector<int64_t> NetworkCosts::links(const Configuration& configuration) {
  const Key key = key_of({.context = configuration.context, .tensor = configuration.tensor});
  return link_classes(Mesh::undivided({{"all", key.tensor}}), parts_.of(key.part).cluster, options_.precision);
}

PlanOptions NetworkCosts::plan_options(const Configuration& configuration) {
  return plan_options(key_of(configuration));
}

PlanOptions NetworkCosts::plan_options(const Key& key) {
  PlanOptions options;
  options.pipeline.stages = 1;
  if (key.tensor * key.context == 1) return options;
  options.parallel = Parallel::automatic;
  options.blocks = {.tensor = key.tensor,
                    .sequence = key.sequence_parallel,
                    .context = key.context,
                    .searched = key.cuts == TensorCuts::searched,
                    .squeeze = key.squeeze};
  if (key.cuts == TensorCuts::searched) {
    require_search();
    options.search = options_.search;
    const double kept_share = static_cast<double>(least_rows(key)) / static_cast<double>(batch_);
    const double share = key.links > 0 ? 0 : exposed_gradients(key);
    options.costs = [this, key, share, kept_share](const Mesh& mesh) {
      PlanCosts costs = key.links > 0 ? costs_of_links(key, mesh)
                                      : cluster_costs(mesh, parts_.of(key.part).cluster, options_.precision, share);
      costs.kept_share = kept_share;  // of the least micro-batch
      return costs;
    };
  }
  return options;
}

const LoweredLayers& NetworkCosts::lowered_layers(const Key& key) {
  if (const auto refused = refused_.find(key); refused != refused_.end()) throw refused->second;
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  try {
    return known_.emplace(key, lower(key, folded_)).first->second;
  } catch (const InvalidArgument& error) {
    refused_.emplace(key, error);
    throw;
  }
}

LayerCosts NetworkCosts::costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units) {
  const FoldedGraph folded{folded_.graph, std::move(units)};
  const Key key = key_of(configuration);
  return lower(key, folded)
      .costs(configuration.micro_batch, parts_.of(key.part).cluster, busy_mesh(key, groups_of(configuration)));
}

LoweredLayers NetworkCosts::lower(const Key& key, const FoldedGraph& folded) {
  LoweringOptions options{.ranks = key.tensor * key.context, .plan = plan_options(key), .recompute = key.recompute};
  if (options.ranks > 1) options.own_plan = options_.own_plan;
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

const LayerCosts& NetworkCosts::layer_costs(const Key& key, int64_t groups, int64_t micro_batch) {
  const std::tuple of(key, groups, micro_batch);
  const auto found = costs_.find(of);
  if (found != costs_.end()) return found->second;
  LayerCosts costs = lowered_layers(key).costs(micro_batch, parts_.of(key.part).cluster, busy_mesh(key, groups));
  return costs_.emplace(of, std::move(costs)).first->second;
}

double NetworkCosts::step_flops() {
  if (step_flops_ > 0) return step_flops_;
  const LayerCosts& costs = layer_costs(Key{}, 1, batch_);
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    step_flops_ += static_cast<double>(folded_.units[u].count) * (unit.forward.flops + unit.backward.flops);
  }
  return step_flops_;
}

double NetworkCosts::least_states(const Configuration& configuration) {
  Key key = key_of(configuration);
  key.recompute = Recompute::none;
  const LayerCosts& costs = layer_costs(key, 1, lowered_rows(key));
  double parameters = 0, optimizer = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    parameters += static_cast<double>(folded_.units[u].count) * costs.units[u].parameters;
    optimizer += static_cast<double>(folded_.units[u].count) * costs.units[u].optimizer;
  }
  const Precision& precision = options_.precision;
  const auto ranks = static_cast<double>(configuration.data * configuration.context);
  const auto shared = [&](int64_t level) { return configuration.zero >= level ? ranks : 1; };
  const double all = parameters * precision.weight / shared(3) +
                     (optimizer * precision.state + parameters * precision.master) / shared(1);
  return all / static_cast<double>(configuration.pipeline);
}

void NetworkCosts::forget_many_stages() {
  if (stages_.size() > kMostStagesKept) stages_.clear();
}

RowSeconds NetworkCosts::row_seconds(const Configuration& configuration) {
  const LayerCosts& costs = layer_costs(key_of(configuration), groups_of(configuration), configuration.micro_batch);
  RowSeconds seconds;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    const auto count = static_cast<double>(folded_.units[u].count);
    seconds.all += count * (unit.forward.seconds() + unit.backward.seconds());
    seconds.weights += count * unit.backward_weights;
  }
  seconds.all /= static_cast<double>(configuration.micro_batch);
  seconds.weights /= static_cast<double>(configuration.micro_batch);
  return seconds;
}

StagePrices& NetworkCosts::stages(Configuration configuration) {
  configuration.zero = 0;
  const auto found = stages_.find(configuration);
  if (found != stages_.end()) return *found->second;
  const auto costs = [this, key = key_of(configuration), groups = groups_of(configuration),
                      rows = configuration.micro_batch](Recompute policy) mutable -> const LayerCosts& {
    key.recompute = policy;
    return layer_costs(key, groups, rows);
  };
  BusyRanks& part = parts_.of(key_of(configuration).part);
  auto made = std::make_unique<StagePrices>(PriceRequest{.folded = folded_,
                                                         .costs = costs,
                                                         .configuration = configuration,
                                                         .batch = batch_,
                                                         .step_flops = step_flops(),
                                                         .cluster = part.cluster,
                                                         .device = part.device,
                                                         .places = part.places,
                                                         .orders = orders_,
                                                         .kept_micro_batches = kept_micro_batches_,
                                                         .precision = options_.precision});
  return *stages_.emplace(configuration, std::move(made)).first->second;
}

std::optional<Configuration> NetworkCosts::recomputed_to_fit(const Configuration& configuration, double memory) {
  const std::pair key(configuration, memory);
  if (const auto known = fitted_.find(key); known != fitted_.end()) return known->second;
  return fitted_.emplace(key, fit(configuration, memory)).first->second;
}

std::optional<Configuration> NetworkCosts::fit(Configuration configuration, double memory) {
  constexpr int kRounds = 4;  // where an order depends on the times of stages what is in flight may be more, too
  configuration.recompute = {};
  StagePrices& kept = stages(configuration);
  for (double limit = memory, round = 0; round < kRounds; ++round) {
    const std::optional<RecomputedLayers> recompute = kept.least_recomputation(configuration.zero, limit);
    if (!recompute) return std::nullopt;
    configuration.recompute = *recompute;
    const double bytes = peak_of(stages(configuration).memory(configuration.zero));
    if (bytes <= memory) return configuration;
    limit -= bytes - memory;
  }
  return std::nullopt;
}

Price NetworkCosts::price(const Configuration& configuration) {
  const Configuration whole = completed(configuration, configuration.ranks(), batch_);
  if (const auto known = prices_.find(whole); known != prices_.end()) return known->second;
  return prices_.emplace(whole, price_of(stages(whole), whole.zero)).first->second;
}

}  // namespace partita
