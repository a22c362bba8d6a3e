#pragma once
// The request that the planner answers.

#include "frontend/network/build_graph.h"
#include "job/config.h"
#include "planner/pricing/search/search_configurations.h"

namespace partita {

/// A network, the columns that it reads, and the configuration that trains it.
struct TrainedNetwork {
  Network network;
  JobConfig config;  // optimizer, batch and element type; its ranks and plan are ignored
  std::vector<Column> columns;
};

/// A network, a cluster, and the parts of the plan that are fixed.
struct PlanRequest {
  std::string model{};                      // model of the zoo "gpt:layers=24", or file of a forward graph "graph.txt"
  std::optional<TrainedNetwork> network{};  // network of the calling program, used instead of `model`
  std::string cluster = "cpu";              // PRESET[:NODES][@SOFTWARE] or a TOML file
  std::string target{};                     // CHIP[:NODES][@SOFTWARE] in place of `cluster`; "": none
  int64_t ranks = 0;                        // ranks to use, a part of the cluster; 0: all of them
  int64_t batch = 0;                        // rows of the global batch; 0: the network's configuration decides
  std::optional<DType> dtype{};             // type of activations and products; none: that of the configuration
  ReduceDType reduce_dtype = ReduceDType::f32;  // type in which sums of gradients over ranks are sent
  std::optional<Loss> loss{};                   // loss of a model of the zoo; none: that of its recipe
  Search search = Search::exact;                // how the cuts of ops are searched
  double memory = 0;                            // bytes for tensors on each device; 0: the device's, less its reserve
  Pins pins{};                                  // values that a search may not change
  bool idle = true;                             // whether a search may leave ranks without work
  bool runner_up = false;  // whether a search keeps the best plan with another assignment of the ranks
  /// Whether the programs of the rank that needs the most memory are compiled, and the search goes on until they fit.
  /// On chips they are those of the largest estimate, and of others that may be larger. Needs the plugin of the
  /// cluster's devices, not the devices. Not for the file of a graph, nor in 16 bits on processors.
  bool check = false;
  CollectiveChoice collectives = CollectiveChoice::automatic;  // mode of the programs that are compiled
  AttentionChoice attention = AttentionChoice::automatic;      // their attention
  bool tf32 = true;            // whether products of f32 may use TF32 where devices have it
  std::string where = "plan";  // text in brackets of messages about ranks and configurations
};

/// Largest `PlanRequest::memory`: 1e9 GiB.
inline constexpr double kMaxMemory = 1e9 * (int64_t{1} << 30);

/// Checks that the request names a network. Throws InvalidArgument if it names the file of a graph, which cannot be
/// trained.
void require_network(const PlanRequest& request);

}  // namespace partita
