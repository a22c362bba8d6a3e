#pragma once
// Fit of positive constants.

#include <functional>
#include <vector>

namespace partita {

/// Returns positive numbers near a local minimum of `loss`, by coordinate descent on logarithms from `numbers`. Each
/// number in turn is multiplied or divided by a factor as long as that helps; the factors shrink towards 1.
/// Deterministic. Throws what `loss` throws.
std::vector<double> minimise(std::vector<double> numbers,
                             const std::function<double(const std::vector<double>&)>& loss);

}  // namespace partita
