#pragma once
// Notes on what a price depends on and is easily overlooked.

#include "planner/pricing/precision.h"
#include "planner/pricing/price.h"

namespace partita {

/// Returns the notes on a price as sentences; often there are none. They mention f32 products priced in TF32, a step of
/// which the host or the overhead of the software takes over 10 %, groups of `tensor` or `context` that span nodes, a
/// level of optimizer sharding that the software lacks, and attention that takes much of the operations. `attention` is
/// its share.
std::vector<std::string> price_notes(const Cluster& cluster, const Precision& precision,
                                     const Configuration& configuration, const Price& price, double attention);

}  // namespace partita
