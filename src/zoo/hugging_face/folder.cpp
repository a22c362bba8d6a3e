#include "zoo/hugging_face/folder.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/text_file.h"
#include "runtime/checkpoint/renamed_weights.h"
#include "zoo/hugging_face/family.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxIndexBytes = int64_t{64} << 20;

bool exists(const std::string& path) {
  std::error_code failure;
  return fs::exists(path, failure);
}

/// Returns the family of the model that the configuration describes. Throws InvalidFile if there is none.
const Family& family_of(const ConfigJson& config) {
  const std::string type = config.text("model_type", "");
  std::vector<std::string> types;
  for (const Family& family : families()) {
    types.insert(types.end(), family.model_types.begin(), family.model_types.end());
    if (std::ranges::find(family.model_types, type) != family.model_types.end()) return family;
  }
  throw InvalidFile("[hugging_face] {}: unknown model, got model_type '{}', expected one of [{}]{}", config.path(),
                    type, fmt::join(types, ", "), did_you_mean(type, types));
}

bool has_config(const std::string& folder) { return exists(folder + "/" + kHuggingFaceConfig); }

/// Whether no file of a folder can have this name.
bool is_no_file_name(const std::string& name) {
  return name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\0", 2)) < name.size();
}

/// Returns the paths of the shards that an index names. Throws InvalidFile for an index that is malformed or names a
/// file outside of the folder.
std::vector<std::string> shards_of(const std::string& folder) {
  const std::string path = folder + "/" + kHuggingFaceIndex;
  const auto refuse = [&](const std::string& got) {
    throw InvalidFile("[hugging_face] {}: not an index, got {}, expected an object \"weight_map\" of file names", path,
                      got);
  };
  nlohmann::json index;
  try {
    index = parse_bounded_json(
        read_text_file(path, {"hugging_face", "an index of weights", kMaxIndexBytes, /*may_be_pipe=*/false}));
  } catch (const BadJson& error) {
    refuse(error.what());
  }
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) refuse("another value");
  std::set<std::string> names;
  for (const auto& [tensor, name] : index["weight_map"].items()) {
    if (!name.is_string()) refuse("a file name of type " + std::string(name.type_name()));
    names.insert(name.get<std::string>());
  }
  if (names.empty()) refuse("no file");
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (is_no_file_name(name)) refuse("file '" + name + "'");
    paths.push_back(folder + "/" + name);
  }
  return paths;
}

std::vector<std::string> files_of(const std::string& folder) {
  // If both are there, the one file counts, as it does for transformers.
  if (exists(folder + "/" + kHuggingFaceWeights)) return {folder + "/" + kHuggingFaceWeights};
  if (exists(folder + "/" + kHuggingFaceIndex)) return shards_of(folder);
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!exists(folder + "/" + name)) continue;
    throw InvalidFile(
        "[hugging_face] {}: weights as a pickle, which is a program, got {}, expected {}: in Python, "
        "transformers.AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER) with the class of the model",
        folder, name, kHuggingFaceWeights);
  }
  throw MissingFile("[hugging_face] {}: no weights, got neither {} nor {}, expected one of them", folder,
                    kHuggingFaceWeights, kHuggingFaceIndex);
}

/// Returns where the sizes of "FOLDER,size=value,.." begin, at a comma; npos if there are none. A folder may have
/// commas in its name: the longest name of a folder with a configuration is taken.
size_t begin_of_sizes(const std::string& text) {
  size_t begin = std::string::npos, end = text.size();
  while (true) {
    const size_t comma = end == 0 ? std::string::npos : text.rfind(',', end - 1);
    if (comma == std::string::npos) return begin;
    const std::string item = text.substr(comma + 1, end - comma - 1);
    if (has_config(text.substr(0, end))) return begin;
    if (item.find('=') == std::string::npos || item.find('/') != std::string::npos) return begin;
    begin = end = comma;
  }
}

/// Replaces the sizes that "size=value,.." gives. Throws InvalidArgument if one is given twice.
void replace_sizes(SizeTexts& sizes, const std::string& given, const std::string& text) {
  std::set<std::string> seen;
  for (size_t begin = 0; begin < given.size();) {
    const size_t end = std::min(given.find(',', begin), given.size());
    const std::string item = given.substr(begin, end - begin);
    const size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    if (!seen.insert(name).second) {
      throw InvalidArgument("[model] option '{}' appears twice in '{}', expected once", name, text);
    }
    sizes[name] = item.substr(equals + 1);
    begin = end + 1;
  }
}

}  // namespace

std::string hugging_face_folder(const std::string& path) {
  return path.starts_with(kHuggingFace) ? path.substr(kHuggingFace.size()) : path;
}

HuggingFaceModel read_hugging_face_model(const std::string& text) {
  const std::string rest = hugging_face_folder(text);
  if (rest.empty()) throw InvalidArgument("[hugging_face] no folder, got '{}', expected hf:FOLDER", text);
  const size_t sizes_begin = begin_of_sizes(rest);
  HuggingFaceModel found{.folder = rest.substr(0, sizes_begin), .spec = ""};
  if (!exists(found.folder)) {
    throw MissingFile("[hugging_face] no folder '{}', expected one on this machine: nothing is downloaded",
                      found.folder);
  }
  const ConfigJson config(found.folder + "/" + kHuggingFaceConfig);
  if (config.has("quantization_config")) config.refuse("quantization_config", "weights that are floats");
  DescribedModel model = family_of(config).read(config);
  found.has_own_sizes = sizes_begin != std::string::npos;
  if (sizes_begin != std::string::npos) replace_sizes(model.sizes, rest.substr(sizes_begin + 1), text);
  std::vector<std::string> items;
  for (const auto& [name, value] : model.sizes) items.push_back(name + "=" + value);
  found.spec = fmt::format("{}:{}", model.zoo_name, fmt::join(items, ","));
  return found;
}

bool is_hugging_face(const std::string& path) { return path.starts_with(kHuggingFace) || has_config(path); }

std::unique_ptr<WeightSource> open_hugging_face(const std::string& path, const std::vector<NamedType>& weights) {
  const std::string folder = hugging_face_folder(path);
  const ConfigJson config(folder + "/" + kHuggingFaceConfig);
  const NameTable table = table_of(family_of(config));
  return std::make_unique<RenamedWeights>(TensorFiles(files_of(folder)), table, weights, folder);
}

TensorFiles open_hugging_face_tensors(const std::string& path) {
  return TensorFiles(files_of(hugging_face_folder(path)));
}

}  // namespace partita
