// partita import and export: weights of other programs in the names of this one, and the reverse.

#include <iostream>
#include <memory>

#include "base/is_folder.h"
#include "base/text_file.h"
#include "cli/command_line.h"
#include "job/toml.h"
#include "runtime/checkpoint/renamed_weights.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/place.h"
#include "training/configuration.h"
#include "zoo/hugging_face/export.h"
#include "zoo/hugging_face/folder.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr int64_t kMaxNamesBytes = int64_t{16} << 20;

struct ExchangeFlags {
  std::vector<std::string> paths;
  std::string out, model, names;
};

/// Returns the weights of a model of the zoo, and its configuration.
std::pair<std::vector<NamedType>, JobConfig> described_weights(const std::string& model) {
  const ZooJob job(configured(model, {}), Place{.cores = 1});
  return {weights_of(job.program(Purpose::evaluation, Stage::graph).graph), job.config()};
}

std::unique_ptr<WeightSource> opened_source(const ExchangeFlags& flags, const std::vector<NamedType>& weights) {
  if (flags.names.empty()) return open_hugging_face(flags.paths[0], weights);
  const NameTable table =
      parse_name_table(read_text_file(flags.names, {"names", "a table of names", kMaxNamesBytes}), flags.names);
  return std::make_unique<RenamedWeights>(TensorFiles(flags.paths), table, weights, flags.paths[0]);
}

void run_import(const ExchangeFlags& flags) {
  std::string model = flags.model;
  if (model.empty() && flags.names.empty()) model = std::string(kHuggingFace) + flags.paths[0];
  if (model.starts_with("hf:hf:")) model = model.substr(kHuggingFace.size());
  if (model.empty()) throw InvalidArgument("[import] no model, got --names alone, expected --model MODEL, too");
  if (flags.names.empty() && flags.paths.size() > 1) {
    throw InvalidArgument("[import] several paths, got {}, expected one folder, or --names FILE", flags.paths.size());
  }
  const auto [weights, config] = described_weights(model);
  const std::unique_ptr<WeightSource> source = opened_source(flags, weights);
  std::vector<std::pair<std::string, Type>> types;
  std::map<std::string, Type> by_name;
  for (const auto& [name, type] : weights) {
    types.emplace_back(name, type);
    by_name.emplace(name, type);
  }
  save_tensors(
      flags.out, types,
      [&](const std::string& name) {
        Array array(by_name.at(name));
        source->read(name, whole_box(array.type().shape), array.type().dtype, array.data());
        return array;
      },
      describe_weights(config));
  std::cout << fmt::format("{}: {} tensors of {}\n", flags.out, types.size(), config.model);
}

/// Returns the model whose weights these are: that of the flag, else that of the configuration that they have. Throws
/// InvalidArgument if there is neither.
std::string model_of(const ExchangeFlags& flags, const SavedStates& states) {
  if (!flags.model.empty()) return flags.model;
  const auto saved = states.metadata().find(kConfigKey);
  std::vector<Assignment> all;
  if (saved != states.metadata().end()) all = parse_config(saved->second, states.path());
  const std::string model = take_model(all);
  if (!model.empty()) return model;
  throw InvalidArgument("[export] {}: no model, got weights that do not name theirs, expected --model MODEL",
                        states.path());
}

void run_export(const ExchangeFlags& flags) {
  SavedStates states(flags.paths[0]);
  const std::string spec = model_of(flags, states);
  const auto [weights, config] = described_weights(spec);
  std::map<std::string, Type> saved;
  for (const SavedState& entry : states.entries()) saved.emplace(entry.name, entry.type);
  std::vector<NamedType> exported;
  for (const auto& [name, type] : weights) {
    const auto found = saved.find(name);
    if (found == saved.end() || found->second.shape != type.shape) {
      throw InvalidFile("[export] {}: not the weights of {}, got {} '{}', expected {}", states.path(), spec,
                        found == saved.end() ? "no" : print(found->second), name, print(type));
    }
    exported.push_back({name, found->second});
  }
  export_hugging_face(
      make_model(spec), exported, [&](const std::string& name) { return states.read(name); }, flags.out);
  std::cout << fmt::format("{}: {} weights of {}\n", flags.out, exported.size(), spec);
}

}  // namespace

void add_exchange(CLI::App& app) {
  const auto flags = std::make_shared<ExchangeFlags>();
  CLI::App* import = add_command(app, "import", "Convert weights of Hugging Face or other programs", flags, run_import);
  import
      ->add_option("PATH", flags->paths,
                   "A folder with config.json and model.safetensors; with --names, safetensors files")
      ->required();
  import->add_option("--out", flags->out, "The weights, for --load")->required()->type_name("FILE");
  import->add_option("--model", flags->model, "Model whose weights they are; default: that of config.json")
      ->type_name("MODEL");
  import->add_option("--names", flags->names, "Table of names: a line \"OURS THEIRS\" for each pattern")
      ->type_name("FILE");
  import->footer("Example: partita import llama-folder --out llama.safetensors");

  CLI::App* out = add_command(app, "export", "Write weights as a folder that transformers load", flags, run_export);
  out->add_option("PATH", flags->paths, "Weights or a checkpoint")->required()->expected(1);
  out->add_option("--out", flags->out, "The folder")->required()->type_name("DIR");
  out->add_option("--model", flags->model, "Model whose weights they are; default: that of the file")
      ->type_name("MODEL");
  out->footer("Example: partita export run --out folder");
}

}  // namespace partita
