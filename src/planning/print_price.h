#pragma once
// A price for people and for programs.

#include "planning/network_costs.h"

namespace partita {

/// What a plan was asked for, and what was found.
struct PricedPlan {
  std::string model, cluster, software{};
  std::vector<std::pair<std::string, std::string>> fitted{};  // what of the cluster was fitted, and to which values
  int64_t ranks = 1, batch = 1;
  Configuration configuration;
  Price price;
  std::vector<std::vector<std::string>> stages{};  // what the paths of the layers of each begin with
  double lower_bound_seconds = 0;                  // no configuration takes less time under this cost model
  double search_seconds = 0;
  double simulated_seconds = 0;  // of the step, event by event; 0: not simulated
};

/// A page: the step and its parts, the stages with their layers and their memory.
std::string print(const PricedPlan& plan);

/// One JSON object: step_seconds, lower_bound_seconds, search_seconds, peak_memory_bytes (by stage),
/// tflops_per_device, breakdown, plan.
std::string to_json(const PricedPlan& plan);

}  // namespace partita
