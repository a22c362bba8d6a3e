#pragma once
// A price for people and for programs.

#include "planner/pricing/job_of.h"

namespace partita {

/// What a plan was asked for, and what was found.
struct PricedPlan {
  std::string model, cluster, software{};
  std::vector<std::pair<std::string, std::string>> fitted{};  // what of the cluster was fitted, and to which values
  int64_t ranks = 1, batch = 1;
  Configuration configuration;
  Price price;
  std::vector<std::vector<std::string>> stages{};  // what the paths of the layers of each begin with
  RecomputedNames recomputed{};                    // the same of the layers that are recomputed
  std::vector<std::string> notes{};                // what the price stands on
  double lower_bound_seconds = 0;                  // no configuration that was searched takes less time
  std::string searched{};                          // which those are; empty: this one alone
  double search_seconds = 0;
};

/// A page: the step and its parts, the stages with their layers and their memory.
std::string print(const PricedPlan& plan);

/// One JSON object: step_seconds, lower_bound_seconds, searched, search_seconds, peak_memory_bytes (by stage),
/// memory_bytes (the same in parts), single_layers_bytes (of that, what layers take that are not repeated; empty where
/// the arena of a program is the memory), tflops_per_device, breakdown, notes, plan.
std::string to_json(const PricedPlan& plan);

}  // namespace partita
