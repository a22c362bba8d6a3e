#pragma once
// The options of a job that follow from the registry of optimizers.

#include "job/options.h"

namespace partita {

/// Checks that an option has one value. Throws InvalidArgument that begins with "[where]" otherwise.
void require_one(std::string_view where, const std::vector<std::string>& texts);

/// Returns the option that names the optimizer. To set another one than before drops the numbers that were given, for
/// example by the recipe of a model, if the two optimizers have different defaults for them.
JobOption optimizer_option();
/// Returns an option for each number and switch of the optimizers.
std::vector<JobOption> optimizer_number_options();

}  // namespace partita
