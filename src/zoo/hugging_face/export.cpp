#include "zoo/hugging_face/export.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "runtime/checkpoint/renamed_weights.h"
#include "runtime/checkpoint/transpose_last.h"
#include "runtime/checkpoint/weights.h"
#include "zoo/hugging_face/family.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

/// A weight here, or zeros in its place, as a part of a tensor there.
struct ExportedPart {
  NamedType weight;
  bool is_zero = false;
  const NameRule* rule = nullptr;
  int64_t index = 0;  // in the first dimension, if each index is a tensor there
};

/// A tensor there.
struct ExportedTensor {
  std::string name;
  Type type;
  std::vector<ExportedPart> parts;
};

std::string dtype_there(DType dtype) {
  if (dtype == DType::bf16) return "bfloat16";
  if (dtype == DType::f16) return "float16";
  return dtype == DType::f64 ? "float64" : "float32";
}

/// Returns the family of a model of the zoo. Throws InvalidArgument if there is none.
const Family& family_for(const ZooModel& model, const std::string& zoo_name) {
  std::vector<std::string> names;
  for (const Family& family : families()) {
    names.insert(names.end(), family.zoo_names.begin(), family.zoo_names.end());
    if (std::ranges::find(family.zoo_names, zoo_name) != family.zoo_names.end()) return family;
  }
  throw unknown_name("[export] transformers have no such model", model.name,
                     fmt::format("one of [{}]", fmt::join(names, ", ")), names);
}

/// Checks that transformers have a model of these sizes. Throws InvalidArgument with the option that differs.
void require_exportable(const DescribedModel& model) {
  const auto refuse = [&](const char* option, const char* expected) {
    const auto found = model.sizes.find(option);
    if (found == model.sizes.end() || found->second == expected) return;
    throw InvalidArgument("[export] transformers have no such {}, got {}={}, expected {}", model.zoo_name, option,
                          found->second, expected);
  };
  if (model.zoo_name.starts_with("resnet")) refuse("small_stem", "0");
  if (model.zoo_name != "llama") return;
  if (size_of(model, "bias") == 0) refuse("proj_bias", "0");
  if (size_of(model, "head_norm") == 1 && size_of(model, "bias") == 1) refuse("proj_bias", "1");
  if (size_of(model, "experts") == 0) return;
  for (const char* option : {"bias", "head_norm", "capacity"}) refuse(option, "0");
  if (size_of(model, "top_k") == 1) {
    throw InvalidArgument("[export] transformers have no such llama, got top_k=1 with experts, expected 2 or more");
  }
}

/// Returns the weights with zeros for biases that only transformers have. Sizes say that the model has them then.
std::vector<ExportedPart> completed_weights(const std::vector<NamedType>& weights, DescribedModel& model) {
  std::vector<ExportedPart> all;
  constexpr std::string_view kQueryBias = ".attn.q.bias";
  const bool lacks_key_bias = model.sizes.contains("key_bias") && size_of(model, "key_bias") == 0;
  for (const NamedType& weight : weights) {
    all.push_back({.weight = weight});
    if (!lacks_key_bias || !weight.name.ends_with(kQueryBias)) continue;
    const std::string block = weight.name.substr(0, weight.name.size() - kQueryBias.size());
    all.push_back({.weight = {block + ".attn.k.bias", weight.type}, .is_zero = true});
  }
  if (model.sizes.contains("segments") && size_of(model, "segments") == 0) {
    const Type row{weights[0].type.dtype, {1, size_of(model, "hidden")}};
    all.push_back({.weight = {"wse.weight", row}, .is_zero = true});
  }
  return all;
}

/// Returns the type of a tensor there, of which `part` is a part.
Type type_there(const ExportedPart& part) {
  const NameRule& rule = *part.rule;
  Shape shape = part.weight.type.shape;
  if (rule.stacked) shape.erase(shape.begin());
  if (rule.parts > 1) shape[0] *= rule.parts;
  if (rule.is_transposed) shape = exchanged(shape);
  shape.insert(shape.begin(), static_cast<size_t>(rule.ones), 1);
  return {part.weight.type.dtype, std::move(shape)};
}

/// Returns the tensors that hold the weights there, in the order of the weights.
std::vector<ExportedTensor> tensors_there(const std::vector<ExportedPart>& weights, const NameTable& table) {
  std::vector<ExportedTensor> tensors;
  std::map<std::string, size_t> places;
  for (const ExportedPart& weight : weights) {
    const auto rule = std::ranges::find_if(
        table.rules, [&](const NameRule& one) { return one.ours.match(weight.weight.name).has_value(); });
    if (rule == table.rules.end()) {
      throw InvalidArgument("[export] a weight has no name in transformers, got '{}', expected a model without it",
                            weight.weight.name);
    }
    NamePattern::Numbers numbers = *rule->ours.match(weight.weight.name);
    const int64_t count = rule->stacked ? weight.weight.type.shape[0] : 1;
    for (int64_t i = 0; i < count; ++i) {
      if (rule->stacked) numbers[*rule->stacked] = i;
      ExportedPart part = weight;
      part.rule = &*rule;
      part.index = i;
      const std::string name = rule->theirs.name(numbers);
      const auto [place, is_new] = places.emplace(name, tensors.size());
      if (is_new) tensors.push_back({name, type_there(part), {}});
      tensors[place->second].parts.push_back(std::move(part));
    }
  }
  // Counters of batches, which PyTorch keeps next to running statistics.
  constexpr std::string_view kVariance = ".running_var";
  for (size_t i = 0, count = tensors.size(); i < count; ++i) {
    const std::string& name = tensors[i].name;
    if (!name.ends_with(kVariance)) continue;
    const std::string norm = name.substr(0, name.size() - kVariance.size());
    tensors.push_back({norm + ".num_batches_tracked", Type{DType::i64, {}}, {}});
  }
  return tensors;
}

/// Returns a tensor as it lies there. `read` returns a weight.
Array made_tensor(const ExportedTensor& tensor, const std::function<Array(const std::string& name)>& read) {
  if (tensor.parts.empty()) {
    Array zero(tensor.type);
    std::memset(zero.data(), 0, static_cast<size_t>(tensor.type.bytes()));
    return zero;
  }
  const NameRule& rule = *tensor.parts[0].rule;
  // The parts lie one after the other until the whole is transposed.
  Shape shape(tensor.type.shape.begin() + rule.ones, tensor.type.shape.end());
  if (rule.is_transposed) shape = exchanged(shape);
  Array whole(Type{tensor.type.dtype, shape});
  const int64_t bytes = tensor.type.bytes() / rule.parts;
  auto* to = static_cast<char*>(whole.data());
  std::memset(to, 0, static_cast<size_t>(tensor.type.bytes()));
  for (const ExportedPart& part : tensor.parts) {
    if (part.is_zero) continue;
    const Array weight = read(part.weight.name);
    std::memcpy(to + part.rule->part * bytes, static_cast<const char*>(weight.data()) + part.index * bytes,
                static_cast<size_t>(bytes));
  }
  Array there(tensor.type);
  if (rule.is_transposed && shape.size() >= 2) {
    transpose_last(whole.data(), there.data(), shape, size_of(tensor.type.dtype));
  } else {
    std::memcpy(there.data(), whole.data(), static_cast<size_t>(tensor.type.bytes()));
  }
  return there;
}

/// Makes the folder, and checks that its files may be written. Throws as export_hugging_face does.
void make_folder(const std::string& folder, bool replaces) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw_cannot_write("export", folder, failure.message());
  for (const char* name : {kHuggingFaceConfig, kHuggingFaceWeights}) {
    const std::string path = folder + "/" + name;
    if (std::filesystem::is_symlink(path, failure)) throw_cannot_write("export", path, "a link to another file");
    if (replaces || !std::filesystem::exists(path, failure)) continue;
    throw InvalidArgument("[export] {}: it is there already, got no --replace, expected that or another folder", path);
  }
  const std::string index = folder + "/" + kHuggingFaceIndex;
  if (!std::filesystem::exists(index, failure)) return;
  throw_cannot_write("export", folder, fmt::format("it has other weights, which {} lists", kHuggingFaceIndex));
}

}  // namespace

void export_hugging_face(const ZooModel& model, const std::vector<NamedType>& weights,
                         const std::function<Array(const std::string& name)>& read, const std::string& folder,
                         bool replaces) {
  DescribedModel described{model.name, model.sizes};
  const Family& family = family_for(model, described.zoo_name);
  require_exportable(described);
  const NameTable table = table_of(family);
  const std::vector<ExportedPart> all = completed_weights(weights, described);
  const std::vector<ExportedTensor> tensors = tensors_there(all, table);
  nlohmann::ordered_json config = family.write(described);
  config["dtype"] = config["torch_dtype"] = dtype_there(weights[0].type.dtype);
  make_folder(folder, replaces);
  std::vector<std::pair<std::string, Type>> types;
  std::map<std::string, const ExportedTensor*> by_name;
  for (const ExportedTensor& tensor : tensors) {
    types.emplace_back(tensor.name, tensor.type);
    by_name.emplace(tensor.name, &tensor);
  }
  // Parts of a weight follow each other: it is read once.
  std::string last;
  Array weight;
  const auto read_once = [&](const std::string& name) {
    if (name != last) weight = read(name);
    last = name;
    return weight;
  };
  save_tensors(folder + "/" + kHuggingFaceWeights, types,
               [&](const std::string& name) { return made_tensor(*by_name.at(name), read_once); }, {{"format", "pt"}});
  save_text(folder + "/" + kHuggingFaceConfig, config.dump(2) + "\n");
}

}  // namespace partita
