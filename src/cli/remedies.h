#pragma once
// What is missing when nothing fits, and which single change would make it fit.

#include "cli/planner.h"

namespace partita {

/// "stage 0 of 8: 96 GiB, of which optimizer 40 GiB, ..; 16 GiB too much".
std::string print_excess(const Planner& planner, const PricedPlan& plan);

/// Throws InvalidArgument with what is missing where and, of more memory, more nodes, a smaller batch and pins that
/// are loosened, the least change that works, and the others.
[[noreturn]] void refuse_memory(Planner& planner, const Pins& pins, const ConfigurationSearch& search);

}  // namespace partita
