#pragma once
// Formats a price as text for people and as JSON for programs.

#include "planner/pricing/search/job_of.h"

namespace partita {

/// The memory of the rank that takes most, as the compiler of its device places it.
struct CompiledMemory {
  std::string compiler;                            // "NVIDIA H100 80GB HBM3, PJRT 0.115"
  double planned = 0;                              // bytes of the estimate
  double states = 0, values = 0, temporaries = 0;  // bytes while the largest program runs; `HeldBytes`
  double bytes() const { return states + values + temporaries; }
};

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
  std::optional<CompiledMemory> compiled{};  // with `PlanRequest::check`

  /// Bytes of the rank that takes most: those of its compiled programs if these were made.
  double fullest() const { return compiled ? compiled->bytes() : price.peak_memory(); }
};

/// Returns the software of a price, with the years of what is known of it and the number of fitted constants:
/// "megatron-lm of 2021 and 2022, 12 fitted constants".
std::string print_software(const PricedPlan& plan);
/// Returns a text about the plan in lines: the network with its cluster, the software, the configuration, the step and
/// its lower bound, notes, what was searched, the seconds of the step in parts, the memory of each group of stages,
/// with several stages the layers of each (of more than 16, of the first and the last 8), and the recomputed layers if
/// they are counted.
std::string print(const PricedPlan& plan);

/// One JSON object: model, cluster, software, software_years, fitted, ranks, batch, step_seconds, lower_bound_seconds,
/// searched, search_seconds, peak_memory_bytes (by group of stages), memory_bytes (the same in parts),
/// single_layers_bytes (the part of unrepeated layers; empty if memory is measured on a program), tflops_per_device,
/// breakdown, recomputed, notes, compiled_memory (null unless it was checked) and plan (the configuration).
std::string to_json(const PricedPlan& plan);

}  // namespace partita
