#pragma once
// Search for the fastest configuration of a network that fits in the memory of a cluster.

#include "planner/pricing/search/network_costs.h"

namespace partita {

/// The values of a configuration that the user fixes; the others are searched.
struct Pins {
  std::optional<int64_t> data{}, tensor{}, context{}, pipeline{}, interleave{}, micro_batch{}, zero{}, squeeze{},
      links{};
  std::optional<TensorCuts> cuts{};
  std::optional<bool> sequence_parallel{};
  std::optional<RecomputedLayers> recompute{};
  std::optional<LayerSplit> layer_split{};
  std::optional<Order> order{};
  bool delays_weights = true;  // whether the search includes orders that delay gradients of weights (zero_bubble)
};

/// Parses pins from the keys of a configuration, such as "tensor=8,recompute=none". Throws InvalidArgument "[--pin] .."
/// for items without '=', unknown or repeated keys, bad values and too many ranks.
Pins parse_pins(std::string_view text);

struct SearchRequest {
  NetworkCosts& costs;
  int64_t ranks = 1;        // ranks of the cluster
  double memory_bytes = 0;  // bytes for tensors on each device
  Pins pins{};
  bool runner_up = false;  // whether to search for the runner-up, too
  bool idle = true;        // whether ranks may be left without work
  /// Whether to find only if something fits. Each assignment of ranks is tried in the form that needs the least memory,
  /// and the search stops at the first configuration that fits.
  bool any = false;
};

struct PricedConfiguration {
  Configuration configuration;
  Price price;
};

struct ConfigurationSearch {
  std::optional<PricedConfiguration> best;         // fastest that fits; none: nothing fits
  std::optional<PricedConfiguration> least;        // the one that needs the least memory; only if nothing fits
  std::optional<PricedConfiguration> runner_up{};  // best with another data, context, tensor or pipeline, on request
  double lower_bound_seconds = 0;                  // no searched configuration that fits takes less; 0: nothing fits
  std::string searched{};                          // the searched space (SearchedSpace::text)
};

/// A well-known way to share a training, as pins.
struct KnownTemplate {
  std::string name;
  Pins pins;
};
/// Returns the known templates: data parallel, sharded data parallel (ZeRO 3), and that of Megatron-LM (tensor and
/// pipeline parallel with sharded optimizer states).
std::vector<KnownTemplate> known_templates();

/// Searches the configurations of SearchedSpace by branch and bound, and returns the fastest that fits or, if none
/// does, the one that needs the least memory. A configuration whose lower bound exceeds the best step is not simulated.
/// The first bound is the time of its layers without recomputation, divided evenly among the groups of stages, at the
/// micro-batch for which it is least. The next ones use its own micro-batch, then `StagePrices::lower_bound`. If
/// nothing fits otherwise, searched cuts are squeezed. Throws InvalidArgument if the pins allow no configuration, or
/// ask for searched cuts without a search, if no configuration can be lowered, or if the order of one is too long
/// (`make_sequence`).
ConfigurationSearch search_configurations(const SearchRequest& request);

}  // namespace partita
