#pragma once
// The names that MindSpore has for parameters, and what its checkpoints hold besides them.

#include <map>
#include <string>
#include <vector>

#include "base/shape.h"

namespace partita {

/// Gives tensors of a file the `expected` names where MindSpore names the parameters of norms and embeddings otherwise:
/// "bn.gamma" becomes "bn.weight" if that is expected and the file lacks it.
void use_expected_names(std::map<std::string, Array>& tensors, const std::vector<std::string>& expected);

/// Removes the states of optimizers and the numbers that a checkpoint of MindSpore has next to parameters, unless they
/// are `expected`. Returns the names of the states.
std::vector<std::string> take_training_states(std::map<std::string, Array>& tensors,
                                              const std::vector<std::string>& expected);

}  // namespace partita
