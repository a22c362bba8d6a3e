// Tables of names, and folders of Hugging Face: configurations, indexes and shards.

#include "fuzz/files.h"
#include "fuzz/target.h"
#include "runtime/checkpoint/renamed_weights.h"
#include "runtime/checkpoint/weights.h"
#include "zoo/hugging_face/family.h"
#include "zoo/hugging_face/folder.h"
#include "zoo/hugging_face/name_texts.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// The first part is the table, the second a name.
void read_names(const std::string& input) {
  const std::vector<std::string> parts = split_parts(input, 2);
  const NameTable table = parse_name_table(parts[0], "names");
  for (const NameRule& rule : table.rules) {
    require(rule.part < rule.parts, "a part that is not there");
    for (const NamePattern* pattern : {&rule.ours, &rule.theirs}) {
      const auto numbers = pattern->match(parts[1]);
      if (numbers) require(pattern->name(*numbers) == parts[1], "a name is printed as another one");
    }
  }
}

const std::vector<std::pair<std::string, std::string>>& some_configs() {
  static const std::vector<std::pair<std::string, std::string>> list{
      {"gpt2", R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 4, "n_head": 2, "n_positions": 8, "vocab_size": 9})"},
      {"llama",
       R"({"model_type": "mixtral", "hidden_size": 4, "intermediate_size": 8, "num_hidden_layers": 1,
 "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 9, "max_position_embeddings": 64,
 "sliding_window": 8, "num_local_experts": 2,
 "rope_parameters": {"rope_type": "llama3", "rope_theta": 100.0, "factor": 8,
 "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 16}})"},
      {"bert",
       R"({"model_type": "bert", "hidden_size": 4, "intermediate_size": 8, "num_hidden_layers": 1,
 "num_attention_heads": 2, "vocab_size": 200, "max_position_embeddings": 16, "type_vocab_size": 2})"},
      {"vit",
       R"({"model_type": "vit", "hidden_size": 4, "intermediate_size": 8, "num_hidden_layers": 1,
 "num_attention_heads": 2, "image_size": 8, "patch_size": 4, "id2label": {"0": "a", "1": "b"}})"},
      {"resnet",
       R"({"model_type": "resnet", "embedding_size": 2, "hidden_sizes": [2, 4, 8, 16], "depths": [2, 2, 2, 2],
 "layer_type": "basic", "num_labels": 3})"}};
  return list;
}

/// Makes the model that a configuration describes.
void read_config_json(const std::string& input) {
  const std::string path = input_folder().write("config.json", input).string();
  const std::string folder = path.substr(0, path.rfind('/'));
  const HuggingFaceModel found = read_hugging_face_model("hf:" + folder);
  require(found.folder == folder, "another folder");
  const ZooModel model = make_model(found.spec);
  require(!model.sizes.empty(), "a model without sizes");
}

const std::vector<NamedType>& some_types() {
  static const std::vector<NamedType> list{{"wte.weight", {DType::f32, {9, 4}}}, {"ln_f.weight", {DType::f32, {4}}}};
  return list;
}

std::string some_shard_file() {
  const std::string path = (input_folder().path() / "seed.safetensors").string();
  save_weights(path, {{"transformer.wte.weight", Array(Type{DType::f32, {9, 4}})},
                      {"transformer.ln_f.weight", Array(Type{DType::f32, {4}})}});
  return bytes_of_file(path);
}

/// The parts are the index, and a shard that it may name. The configuration is right.
void read_shards(const std::string& input) {
  const std::vector<std::string> parts = split_parts(input, 2);
  input_folder().write("hf/config.json", some_configs()[0].second);
  input_folder().write("hf/model.safetensors.index.json", parts[0]);
  input_folder().write("hf/a.safetensors", parts[1]);
  const auto source = open_hugging_face((input_folder().path() / "hf").string(), some_types());
  for (const auto& [name, type] : some_types()) {
    require(source->has(name), "a weight that is missing is not refused");
    Array array(type);
    source->read(name, whole_box(type.shape), type.dtype, array.data());
  }
}

std::vector<std::string> table_seeds() {
  std::vector<std::string> seeds{joined({"a.{i}.{j}  x.{j}.{i+1} transposed 1/3\ne y.{e} ones:2\n", "x.3.5"})};
  for (const EmbeddedText& text : name_texts()) {
    seeds.push_back(joined({std::string(text.text), "transformer.h.0.ln_1.weight"}));
  }
  return seeds;
}

std::vector<std::string> config_seeds() {
  std::vector<std::string> seeds;
  for (const auto& [names, text] : some_configs()) seeds.push_back(text);
  return seeds;
}

constexpr const char* kSomeIndex = R"({"metadata": {"total_size": 160}, "weight_map": {
 "transformer.wte.weight": "a.safetensors", "transformer.ln_f.weight": "a.safetensors"}})";

}  // namespace

std::vector<FuzzTarget> hugging_face_targets() {
  return {{.name = "name_table",
           .seeds = table_seeds,
           .read = read_names,
           .words = {"{i}", "{i+1}", "{e}", " 1/3", " ones:2", "transposed", "ignored ", "optional "}},
          {.name = "config_json",
           .seeds = config_seeds,
           .read = read_config_json,
           .words = {"\"model_type\":", "\"qwen3\"", "\"mistral\"", "\"rope_scaling\":", "\"head_dim\":",
                     "\"tie_word_embeddings\":", "\"linear\"", "null", "1e9", deep_lists()}},
          {.name = "hugging_face",
           .seeds =
               [] {
                 return std::vector{joined({kSomeIndex, some_shard_file()})};
               },
           .read = read_shards,
           .words = {"\"weight_map\":", "a.safetensors", "../", "config.json", "\"dtype\":\"F16\"", deep_lists()}}};
}

}  // namespace partita
