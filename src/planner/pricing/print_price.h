#pragma once
// Formats a price as text for people and as JSON for programs.

#include "planner/pricing/job_of.h"

namespace partita {

/// A request for a plan, and its result.
struct PricedPlan {
  std::string model, cluster, software{};
  std::vector<std::pair<std::string, std::string>> fitted{};  // fitted keys of the cluster and their values
  int64_t ranks = 1, batch = 1;
  Configuration configuration;
  Price price;
  std::vector<std::vector<std::string>> stages{};  // prefixes of the layers' paths, by stage
  RecomputedNames recomputed{};                    // prefixes of the recomputed layers' paths
  std::vector<std::string> notes{};                // sentences of `price_notes`
  double lower_bound_seconds = 0;                  // no searched configuration takes less; 0: unknown
  std::string searched{};                          // text of the searched space; empty: no search
  double search_seconds = 0;
};

/// Returns a text about the plan in lines: the network with its cluster, the configuration, the step and its lower
/// bound, notes, what was searched, the seconds of the step in parts, the memory of each group of stages, with several
/// stages the layers of each (of more than 16, of the first and the last 8), and the recomputed layers if they are
/// counted.
std::string print(const PricedPlan& plan);

/// One JSON object: model, cluster, software, fitted, ranks, batch, step_seconds, lower_bound_seconds, searched,
/// search_seconds, peak_memory_bytes (by group of stages), memory_bytes (the same in parts), single_layers_bytes (the
/// part of unrepeated layers; empty if memory is measured on a program), tflops_per_device, breakdown, recomputed,
/// notes and plan (the configuration).
std::string to_json(const PricedPlan& plan);

}  // namespace partita
