#pragma once
// Weights with their additions to products (LoRA) merged into them.

#include <functional>
#include <string>
#include <vector>

#include "runtime/checkpoint/weight_source.h"
#include "zoo/zoo.h"

namespace partita {

/// Reads a whole tensor by name.
using ReadTensor = std::function<Array(const std::string& name)>;

/// Returns the text of a model without its options of fine-tuning.
std::string without_adapters(const std::string& spec);

/// Checks that adapters of the model `own` fit the model `other`: all sizes but the lengths of rows are the same, those
/// of fine-tuning too if `tunes`. Throws InvalidArgument, naming `where`, with the size that differs.
void require_same_sizes(const std::string& where, const ZooModel& own, const ZooModel& other, bool tunes);

/// Returns a function that reads weights of `base`: those that have additions plus alpha / rank times the product of
/// the two matrices, computed in f64 and rounded once. `names` are those of the additions of `model`, which `adapters`
/// reads.
ReadTensor merged(const ZooModel& model, const std::vector<std::string>& names, ReadTensor adapters, ReadTensor base);

}  // namespace partita
