#pragma once
// Writes folders that Hugging Face's transformers load.

#include <functional>
#include <string>
#include <vector>

#include "runtime/checkpoint/weight_source.h"
#include "zoo/zoo.h"

namespace partita {

/// Writes config.json and model.safetensors to `folder`, which is made if it does not exist. `replaces`: files of these
/// names are replaced, else they are refused; links to files always are. `weights` are those of `model`, and `read`
/// returns one. Biases of keys that the model does not have are written as zeros, which are equal. Throws
/// InvalidArgument for a model that transformers do not have, with the option that differs, and for files that are
/// there already, RuntimeFailure(cannot_write) if a file cannot be written or the folder has shards with an index, and
/// what `read` throws.
void export_hugging_face(const ZooModel& model, const std::vector<NamedType>& weights,
                         const std::function<Array(const std::string& name)>& read, const std::string& folder,
                         bool replaces = false);

}  // namespace partita
