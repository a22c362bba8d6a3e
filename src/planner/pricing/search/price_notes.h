#pragma once
// Notes on what a price depends on and is easily overlooked.

#include "planner/pricing/layers/precision.h"
#include "planner/pricing/step/price.h"

namespace partita {

/// The subject of the notes. References must outlive the call.
struct NotedPrice {
  const Cluster& cluster;
  const Precision& precision;
  double attention = 0;   // share of the operations
  bool is_preset = true;  // whether a name after that of the cluster selects its software
};

/// Returns the notes on a price as sentences; often there are none. They mention f32 products priced in TF32, programs
/// of this library on a device where no step of them has been measured, a step of which the host or the overhead of the
/// software takes over 10 %, groups of `tensor` or `context` that span nodes, a level of optimizer sharding that the
/// software lacks, and attention that takes much of the operations.
std::vector<std::string> price_notes(const NotedPrice& of, const Configuration& configuration, const Price& price);

}  // namespace partita
