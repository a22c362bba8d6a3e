#pragma once
// Folders of Hugging Face: config.json, and weights in model.safetensors or in shards with an index.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/tensor_files.h"
#include "runtime/checkpoint/weight_source.h"

namespace partita {

/// Begins the path of such a folder where another kind could stand.
inline constexpr std::string_view kHuggingFace = "hf:";

/// Returns the path without "hf:" at its start.
std::string hugging_face_folder(const std::string& path);

/// Files of such a folder: the model's configuration, its weights, or the list of files with them.
inline constexpr const char *kHuggingFaceConfig = "config.json", *kHuggingFaceWeights = "model.safetensors",
                            *kHuggingFaceIndex = "model.safetensors.index.json";

/// A model of the zoo that a folder has.
struct HuggingFaceModel {
  std::string folder;          // path
  std::string spec;            // the model with its sizes, as `make_model` takes it
  bool has_own_sizes = false;  // whether sizes of the folder were replaced
};

/// Returns the model of "hf:FOLDER" or "hf:FOLDER,size=value,..", where sizes replace those of the folder. Throws
/// MissingFile if there is no config.json, InvalidFile for one that is malformed or describes a model that the zoo does
/// not have, and InvalidArgument for a malformed size.
HuggingFaceModel read_hugging_face_model(const std::string& text);

/// Whether `path`, which is not empty, begins with "hf:" or is a folder with a config.json.
bool is_hugging_face(const std::string& path);

/// Opens the weights of the folder `path`, with or without "hf:", for a network with these weights. Throws MissingFile
/// if a file is missing, InvalidFile for a damaged one, for a file of PyTorch, and if the tensors are not those of the
/// network (RenamedWeights).
std::unique_ptr<WeightSource> open_hugging_face(const std::string& path, const std::vector<NamedType>& weights);

/// Opens the tensors of the folder `path`, with or without "hf:", by the names that they have there. Throws as
/// open_hugging_face does for files.
TensorFiles open_hugging_face_tensors(const std::string& path);

}  // namespace partita
