#pragma once
// What the planner is asked.

#include "frontend/network/build_graph.h"
#include "job/config.h"
#include "planner/pricing/search_configurations.h"

namespace partita {

/// A network with the columns that it reads and the configuration that trains it.
struct TrainedNetwork {
  Network network;
  JobConfig config;  // optimizer, batch, element type; its ranks and its plan are not used
  std::vector<Column> columns;
};

/// A network, a cluster, and what is fixed of the plan.
struct PlanRequest {
  std::string model{};                      // of the zoo, "gpt:layers=24", or the file of a forward graph, "graph.txt"
  std::optional<TrainedNetwork> network{};  // of the program's own, in place of a model
  std::string cluster = "cpu";              // PRESET[:NODES][@SOFTWARE] or a TOML file
  int64_t ranks = 0;                        // the part of the cluster with this many ranks; 0: all of it
  int64_t batch = 0;                        // rows of the global batch; 0: those of the network's configuration
  std::optional<DType> dtype{};             // of activations and products; none: that of the network's configuration
  std::optional<Loss> loss{};               // of a model of the zoo; none: that of its recipe
  Search search = Search::exact;            // how op cuts are found
  double memory = 0;                        // bytes of each device for tensors; 0: the cluster's, less its reserve
  Pins pins{};                              // of a search
  bool idle = true;                         // whether a search may leave ranks without work
  bool runner_up = false;                   // whether a search keeps the best plan that shares the ranks otherwise
  bool tf32 = true;                         // whether products of f32 may be TF32 where devices have it
  std::string where = "plan";               // "[where]" in messages about ranks and configurations
};

/// Throws InvalidArgument if the request has the file of a graph, which cannot be trained.
void require_network(const PlanRequest& request);

}  // namespace partita
