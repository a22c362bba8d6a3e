#include "planning/network_costs.h"

#include "cluster/collective_seconds.h"
#include "compile.h"
#include "planning/cluster_costs.h"

namespace partita {
namespace {

constexpr double kLeastExposed = 0.1;  // of sums of gradients: the last ones come behind the backward

}  // namespace

int64_t rows_of(const Graph& forward) {
  for (const Input& input : forward.inputs) {
    if (input.batch_dim >= 0) return forward.type(input.value).shape[static_cast<size_t>(input.batch_dim)];
  }
  throw InvalidArgument("[plan] no input with a batch, got none, expected one that counts rows");
}

NetworkCosts::NetworkCosts(const Graph& forward, const OpSet& ops, const KernelCatalog& catalog, const Cluster& cluster,
                           NetworkOptions options)
    : ops_(ops),
      catalog_(catalog),
      cluster_(cluster),
      options_(std::move(options)),
      folded_(options_.fold ? fold_layers(forward, Rules(forward, ops)) : units_of(forward, Rules(forward, ops))),
      batch_(rows_of(forward)),
      places_(cluster) {}

NetworkCosts::Key NetworkCosts::key_of(const Configuration& configuration) {
  return {.tensor = configuration.tensor,
          .context = configuration.context,
          .cuts = configuration.cuts,
          .sequence_parallel = configuration.sequence_parallel,
          .recompute = configuration.recompute};
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

/// Groups of ranks with rows of their own, at most.
int64_t NetworkCosts::sharers(const Key& key) const {
  return std::max<int64_t>(1, cluster_.ranks() / (key.tensor * key.context));
}

int64_t NetworkCosts::least_rows(const Key& key) const {
  if (key.cuts == TensorCuts::blocks && !options_.own_plan) return 1;
  int64_t rows = std::min(key.tensor, batch_);
  while (batch_ % rows != 0) ++rows;
  return rows;
}

/// Of sums of gradients over the ranks of `tensor`, if all of these cut the batch: what the backward does not hide. The
/// graph has the rows of all groups of ranks, of which one computes its own alone: to these sums weigh more.
double NetworkCosts::exposed_gradients(const Key& key) {
  const auto groups = static_cast<double>(sharers(key));
  const double rows = static_cast<double>(batch_) / groups / static_cast<double>(key.tensor);
  const LayerCosts& costs = layer_costs({.micro_batch = 1});
  double backward = 0, parameters = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const auto count = static_cast<double>(folded_.units[u].count);
    backward += count * rows * costs.units[u].backward.compute;
    parameters += count * costs.units[u].parameters;
  }
  const GroupPlace& place = places_.tensor({.data = sharers(key), .tensor = key.tensor}, 0);
  const double sums = seconds_of(Collective::all_reduce, parameters * options_.precision.gradient, place, cluster_);
  return groups * std::max(kLeastExposed, 1 - backward / sums);
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
                    .searched = key.cuts == TensorCuts::searched};
  if (key.cuts == TensorCuts::searched) {
    options.search = options_.search;
    options.costs = [this, part = exposed_gradients(key)](const Mesh& mesh) {
      return cluster_costs(mesh, cluster_, options_.precision, part);
    };
  }
  return options;
}

const LoweredLayers& NetworkCosts::lowered_layers(const Key& key) {
  std::unique_ptr<LoweredLayers>& known = known_[key];
  if (known == nullptr) known = lower(key, folded_);
  return *known;
}

LayerCosts NetworkCosts::costs_of_units(const Configuration& configuration, std::vector<FoldedUnit> units) {
  const FoldedGraph folded{folded_.graph, std::move(units)};
  return lower(key_of(configuration), folded)->costs(configuration.micro_batch, cluster_);
}

std::unique_ptr<LoweredLayers> NetworkCosts::lower(const Key& key, const FoldedGraph& folded) {
  CompileOptions options{.ranks = key.tensor * key.context,
                         .plan = plan_options(key),
                         .training = options_.training,
                         .passes = {.unverified = {"graph", "training", "reshard", "partition"}},
                         .last = Stage::partition};
  options.training->recompute = key.recompute;
  if (options.ranks > 1) options.own_plan = options_.own_plan;
  const int64_t rows = least_rows(key);
  options.plan.micro_batches = batch_ / rows;
  const Program program = compile(folded.graph, ops_, catalog_, options);
  return std::make_unique<LoweredLayers>(
      LoweringRequest{.folded = folded,
                      .local = program.local(),
                      .rows = rows,
                      .ops = ops_,
                      .cluster = cluster_,
                      .ranks = Mesh({{"data", sharers(key)}, {"context", key.context}, {"tensor", key.tensor}}),
                      .precision = options_.precision,
                      .recompute = key.recompute});
}

const LayerCosts& NetworkCosts::layer_costs(const Configuration& configuration) {
  const Key key = key_of(configuration);
  const auto found = costs_.find({key, configuration.micro_batch});
  if (found != costs_.end()) return found->second;
  LayerCosts costs = lowered_layers(key).costs(configuration.micro_batch, cluster_);
  return costs_.emplace(std::pair(key, configuration.micro_batch), std::move(costs)).first->second;
}

double NetworkCosts::step_flops() {
  if (step_flops_ > 0) return step_flops_;
  const LayerCosts& costs = layer_costs({.micro_batch = batch_});
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    step_flops_ += static_cast<double>(folded_.units[u].count) * (unit.forward.flops + unit.backward.flops);
  }
  return step_flops_;
}

double NetworkCosts::row_seconds(const Configuration& configuration) {
  const LayerCosts& costs = layer_costs(configuration);
  double seconds = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    seconds += static_cast<double>(folded_.units[u].count) * (unit.forward.seconds() + unit.backward.seconds());
  }
  return seconds / static_cast<double>(configuration.micro_batch);
}

StagePrices& NetworkCosts::stages(Configuration configuration) {
  configuration.zero = 0;
  const auto found = stages_.find(configuration);
  if (found != stages_.end()) return *found->second;
  auto made = std::make_unique<StagePrices>(PriceRequest{.folded = folded_,
                                                         .costs = layer_costs(configuration),
                                                         .configuration = configuration,
                                                         .batch = batch_,
                                                         .step_flops = step_flops(),
                                                         .cluster = cluster_,
                                                         .places = places_,
                                                         .precision = options_.precision});
  return *stages_.emplace(configuration, std::move(made)).first->second;
}

Price NetworkCosts::price(const Configuration& configuration) {
  const Configuration whole = completed(configuration, configuration.ranks(), batch_);
  return stages(whole).price(whole.zero);
}

}  // namespace partita
