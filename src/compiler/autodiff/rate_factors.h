#pragma once
// Learning rates of parameters, as factors of that of the training.

#include <string>
#include <vector>

namespace partita {

/// Returns a factor for each of `parameters`, their names: that of the last of `rates`, "PATTERN=FACTOR", whose pattern
/// names it ('*' stands for any characters), else 1. Throws InvalidArgument for a text of another form, a factor
/// outside 0 to 1000, and a pattern that names none of them.
std::vector<double> rate_factors(const std::vector<std::string>& rates, const std::vector<std::string>& parameters);

}  // namespace partita
