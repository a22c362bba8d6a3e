#pragma once
// Which configuration of a network on a cluster takes the least time and fits in its memory.

#include "planner/pricing/network_costs.h"

namespace partita {

/// What a user fixes; the rest is searched.
struct Pins {
  std::optional<int64_t> data{}, tensor{}, context{}, pipeline{}, interleave{}, micro_batch{}, zero{}, squeeze{},
      links{};
  std::optional<TensorCuts> cuts{};
  std::optional<bool> sequence_parallel{};
  std::optional<RecomputedLayers> recompute{};
  std::optional<Deal> deal{};
  std::optional<Order> order{};
  bool delays_weights = true;  // whether orders may run gradients of weights behind the rest of a backward
};

/// "tensor=8,recompute=none": the keys of a configuration. Throws InvalidArgument "[--pin] ..".
Pins parse_pins(std::string_view text);

struct SearchRequest {
  NetworkCosts& costs;
  int64_t ranks = 1;        // that there are
  double memory_bytes = 0;  // of a device, for tensors
  Pins pins{};
  bool runner_up = false;  // is looked for, too
  bool idle = true;        // whether ranks may be left without work
  /// Only whether something fits is asked: each way to share ranks is tried in the form that takes the least memory.
  bool any = false;
};

struct PricedConfiguration {
  Configuration configuration;
  Price price;
};

struct ConfigurationSearch {
  std::optional<PricedConfiguration> best;         // none: nothing fits
  std::optional<PricedConfiguration> least;        // the one that takes the least memory, when nothing fits
  std::optional<PricedConfiguration> runner_up{};  // the best that shares the ranks otherwise: another data, tensor, ..
  double lower_bound_seconds = 0;                  // no configuration that is searched and fits takes less
  std::string searched{};                          // which those are (SearchedSpace::text)
};

/// Ways to share a training that people know, each the best of its kind: data parallel, sharded data parallel (ZeRO 3)
/// and what Megatron-LM does (tensor and pipeline parallel, states of the optimizer sharded).
struct KnownTemplate {
  std::string name;
  Pins pins;
};
std::vector<KnownTemplate> known_templates();

/// Cuts that are searched are squeezed where no configuration fits otherwise, with all layers recomputed or not.
/// Branch and bound over all divisors: a configuration whose lower bound is above the best step is not simulated. The
/// first bound is the seconds of its layers, nothing recomputed, dealt out evenly over the groups of stages, at the
/// micro-batch for which that is least; then at its own micro-batch; then `StagePrices::lower_bound`.
/// Throws InvalidArgument when the pins allow nothing.
ConfigurationSearch search_configurations(const SearchRequest& request);

}  // namespace partita
