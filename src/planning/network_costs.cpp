#include "planning/network_costs.h"

#include "compile.h"

namespace partita {
namespace {

int64_t rows_of(const Graph& forward) {
  for (const Input& input : forward.inputs) {
    if (input.batch_dim >= 0) return forward.type(input.value).shape[static_cast<size_t>(input.batch_dim)];
  }
  throw InvalidArgument("[plan] no input with a batch, got none, expected one that counts rows");
}

}  // namespace

NetworkCosts::NetworkCosts(const Graph& forward, const OpSet& ops, const KernelCatalog& catalog, const Cluster& cluster,
                           NetworkOptions options)
    : ops_(ops),
      catalog_(catalog),
      cluster_(cluster),
      options_(std::move(options)),
      folded_(fold_layers(forward, Rules(forward, ops))),
      batch_(rows_of(forward)) {}

const LayerCosts& NetworkCosts::layers(const Key& key) {
  const auto [entry, fresh] = known_.try_emplace(key);
  if (!fresh) return entry->second;
  CompileOptions options{.ranks = key.tensor * key.context, .training = options_.training, .last = Stage::partition};
  options.training->recompute = key.recompute;
  options.plan.micro_batches = batch_ / key.micro_batch;
  options.plan.pipeline.stages = 1;
  if (key.tensor * key.context > 1) {
    options.plan.parallel = Parallel::automatic;
    options.plan.blocks = {.tensor = key.tensor, .sequence = key.sequence_parallel, .context = key.context};
  }
  try {
    const Program program = compile(folded_.graph, ops_, catalog_, options);
    const int64_t others = cluster_.ranks() / (key.tensor * key.context);
    const Mesh ranks({{"data", others}, {"context", key.context}, {"tensor", key.tensor}});
    entry->second = layer_costs({.folded = folded_,
                                 .local = program.local(),
                                 .ops = ops_,
                                 .cluster = cluster_,
                                 .ranks = ranks,
                                 .precision = options_.precision});
  } catch (...) {
    known_.erase(entry);
    throw;
  }
  return entry->second;
}

double NetworkCosts::step_flops() {
  const LayerCosts& costs = layers({.micro_batch = batch_});
  double flops = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    const UnitCosts& unit = costs.units[u];
    flops += static_cast<double>(folded_.units[u].count) * (unit.forward.flops + unit.backward.flops);
  }
  return flops;
}

Price NetworkCosts::price(const Configuration& configuration) {
  const Configuration whole = completed(configuration, cluster_.ranks(), batch_);
  const LayerCosts& costs = layers({.tensor = whole.tensor,
                                    .context = whole.context,
                                    .micro_batch = whole.micro_batch,
                                    .sequence_parallel = whole.sequence_parallel,
                                    .recompute = whole.recompute});
  return price_of({.folded = folded_,
                   .costs = costs,
                   .configuration = whole,
                   .batch = batch_,
                   .step_flops = step_flops(),
                   .cluster = cluster_,
                   .precision = options_.precision});
}

}  // namespace partita
