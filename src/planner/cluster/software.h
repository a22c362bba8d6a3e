#pragma once
// Training software, by name: the costs that it adds to the kernels of a graph.

#include "planner/cluster/cluster.h"

namespace partita {

/// The names of the known software:
/// partita       the kernels of the graph, launched without waiting for a host
/// megatron-lm   Megatron-LM and Megatron-DeepSpeed of 2021 and 2022: attention scores in memory, kernels issued one by
///               one from Python, collectives not overlapped
/// megatron-core Megatron Core of 2024: fused attention, collectives overlapped with products and gradients
std::vector<std::string> software_names();
/// Returns the years of the software that these costs were taken from: "2021 and 2022". "" for this library, and for
/// names that are not known, such as those of cluster files.
std::string years_of_software(std::string_view name);

/// The highest level of optimizer sharding that the software of this name has; that of Partita for an unknown name.
int64_t max_level_of(std::string_view name);

/// Replaces `cluster.software` by the costs of the software of this name, except for the collective library's
/// algorithms, shares of the bandwidth, concurrent messages and overlap slowdown, which stay. In `cluster.fitted`,
/// replaces the keys "software.*" by those that are fitted for it. Throws InvalidArgument with the nearest name if the
/// software is unknown.
void use_software(Cluster& cluster, std::string_view name);

}  // namespace partita
