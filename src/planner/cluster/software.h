#pragma once
// Software that trains on clusters, by name: what it adds to the kernels of a graph.

#include "planner/cluster/cluster.h"

namespace partita {

/// partita       the kernels of the graph, launched without waiting for a host
/// megatron-lm   Megatron-LM and Megatron-DeepSpeed of 2021 and 2022: scores of attention in memory, kernels issued one
///               by one from Python, collectives beside nothing
/// megatron-core Megatron Core of 2024: fused attention, collectives beside products and gradients
std::vector<std::string> software_names();

/// Puts what the software of this name costs into the place of the cluster's own; which algorithms the collective
/// library has, and what these reach, is kept. Throws InvalidArgument with the nearest name.
void use_software(Cluster& cluster, std::string_view name);

}  // namespace partita
