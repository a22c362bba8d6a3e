#pragma once
// The set of all optimizers, ordered by name.

#include "ir/optimizers/optimizer_def.h"

namespace partita {

/// Returns the immutable registry, made on first use.
const std::vector<OptimizerDef>& all_optimizers();
/// Returns the optimizer of this name. Throws InvalidArgument "[where] unknown name, got .." with the nearest name if
/// there is none.
const OptimizerDef& find_optimizer(std::string_view where, std::string_view name);
/// Returns the names of all optimizers, in order.
std::vector<std::string> optimizer_names();
/// Returns the names of the optimizers that have an option, in order.
std::vector<std::string> optimizers_with(std::string_view option);
/// Returns the words that precede the name of a parameter in the states of MindSpore's optimizers, also of those that
/// are not here.
const std::vector<std::string>& documented_state_prefixes();
/// Returns every option once, as its first optimizer defines it: in the order of optimizers and their options.
const std::vector<OptimizerOption>& all_optimizer_options();

}  // namespace partita
