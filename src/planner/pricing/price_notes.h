#pragma once
// What a price stands on that is easily overlooked.

#include "planner/pricing/precision.h"
#include "planner/pricing/price.h"

namespace partita {

/// Sentences, none where all is as it looks: products of f32 that are priced in TF32, a step that waits for its host or
/// for what the software adds rather than for devices, ranks of `tensor` or `context` that are on several nodes.
std::vector<std::string> price_notes(const Cluster& cluster, const Precision& precision,
                                     const Configuration& configuration, const Price& price);

}  // namespace partita
