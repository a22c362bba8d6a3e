#pragma once
// Fits positive constants.

#include <functional>
#include <vector>

namespace partita {

/// The positive numbers near which a loss is least: one after the other is multiplied or divided as long as that helps,
/// by factors that become smaller (coordinate descent on logarithms). Deterministic.
std::vector<double> minimise(std::vector<double> numbers,
                             const std::function<double(const std::vector<double>&)>& loss);

}  // namespace partita
