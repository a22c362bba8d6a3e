// partita import and export: weights of other programs in the names of this one, and the reverse.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/is_folder.h"
#include "base/text_file.h"
#include "cli/command_line.h"
#include "frontend/network/adapters.h"
#include "job/toml.h"
#include "runtime/checkpoint/renamed_weights.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/place.h"
#include "training/configuration.h"
#include "zoo/hugging_face/export.h"
#include "zoo/hugging_face/folder.h"
#include "zoo/merged_adapters.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr int64_t kMaxNamesBytes = int64_t{16} << 20;

struct ExchangeFlags {
  std::vector<std::string> paths;
  std::string out, model, names, base, like;
  bool replaces = false;
};

ZooJob job_of(const std::string& model) { return ZooJob(configured(model, {}), Place{.cores = 1}); }

Graph graph_of(const ZooJob& job) { return job.program(Purpose::evaluation, Stage::graph).graph; }

std::map<std::string, NamedType> by_name(const std::vector<NamedType>& weights) {
  std::map<std::string, NamedType> named;
  for (const NamedType& weight : weights) named.emplace(weight.name, weight);
  return named;
}

std::unique_ptr<WeightSource> opened_source(const ExchangeFlags& flags, const std::vector<NamedType>& weights) {
  if (flags.names.empty()) return open_hugging_face(flags.paths[0], weights);
  const NameTable table =
      parse_name_table(read_text_file(flags.names, {"names", "a table of names", kMaxNamesBytes}), flags.names);
  return std::make_unique<RenamedWeights>(TensorFiles(flags.paths), table, weights, flags.paths[0]);
}

void run_import(const ExchangeFlags& flags) {
  std::string model = flags.model;
  if (model.empty() && flags.names.empty()) model = std::string(kHuggingFace) + hugging_face_folder(flags.paths[0]);
  if (model.empty()) throw InvalidArgument("[import] no model, got --names alone, expected --model MODEL, too");
  if (flags.names.empty() && flags.paths.size() > 1) {
    throw InvalidArgument("[import] several paths, got {}, expected one folder, or --names FILE", flags.paths.size());
  }
  const ZooJob job = job_of(model);
  const std::vector<NamedType> weights = weights_of(graph_of(job));
  const std::map<std::string, NamedType> named = by_name(weights);
  const std::unique_ptr<WeightSource> source = opened_source(flags, weights);
  std::vector<std::pair<std::string, Type>> types;
  for (const auto& [name, type] : weights) types.emplace_back(name, type);
  save_tensors(
      flags.out, types, [&](const std::string& name) { return read_whole(*source, named.at(name)); },
      describe_weights(job.config()));
  std::cout << fmt::format("{}: {} tensors of {}\n", flags.out, types.size(), job.config().model);
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

/// Returns the weights that a file has, in its types. Throws InvalidFile if it lacks one of `weights` or has it in
/// another shape.
std::vector<NamedType> saved_types(const std::vector<NamedType>& weights, const SavedStates& states,
                                   const std::string& spec) {
  std::map<std::string, Type> saved;
  for (const SavedState& entry : states.entries()) saved.emplace(entry.name, entry.type);
  std::vector<NamedType> types;
  for (const auto& [name, type] : weights) {
    const auto found = saved.find(name);
    if (found == saved.end() || found->second.shape != type.shape) {
      throw InvalidFile("[export] {}: not the weights of {}, got {} '{}', expected {}", states.path(), spec,
                        found == saved.end() ? "no" : print(found->second), name, print(type));
    }
    types.push_back({name, found->second});
  }
  return types;
}

/// Whether it is a matrix of an addition, and no state of an optimizer.
bool is_addition(const SavedState& entry) { return entry.kind == StateKind::parameter && is_adapter(entry.name); }

constexpr int64_t kMaxCopiedBytes = int64_t{1} << 30;

std::string text_of_file(const std::filesystem::path& path) {
  return read_text_file(path.string(), {"export", "a file to copy", kMaxCopiedBytes, /*may_be_pipe=*/false});
}

/// A file of another folder, and the path of its copy.
struct CopiedFile {
  std::filesystem::path from, to;
};

/// Returns the tokenizer and the like of the folder --like, or of the base, which the exported folder gets. Files that
/// it has already, with the same contents, are left out. Throws MissingFile if there is no such folder,
/// InvalidArgument if the exported folder has another file and --replace is not given, RuntimeFailure(cannot_write) for
/// a link.
std::vector<CopiedFile> files_to_copy(const ExchangeFlags& flags) {
  namespace fs = std::filesystem;
  std::string from = !flags.like.empty()                                  ? flags.like
                     : !flags.base.empty() && is_hugging_face(flags.base) ? flags.base
                                                                          : "";
  from = hugging_face_folder(from);
  std::vector<CopiedFile> files;
  if (from.empty()) return files;
  if (!is_folder(from)) throw MissingFile("[export] no folder '{}', expected that of --like", from);
  for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json",
                           "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt", "chat_template.jinja",
                           "generation_config.json", "preprocessor_config.json"}) {
    std::error_code failure;
    const CopiedFile file{fs::path(from) / name, fs::path(flags.out) / name};
    if (!fs::is_regular_file(file.from, failure) || fs::equivalent(file.from, file.to, failure)) continue;
    if (fs::is_symlink(file.to, failure)) throw_cannot_write("export", file.to.string(), "a link to another file");
    if (fs::exists(file.to, failure)) {
      if (fs::is_regular_file(file.to, failure) && text_of_file(file.to) == text_of_file(file.from)) continue;
      if (!flags.replaces) {
        throw InvalidArgument(
            "[export] {}: it is there already, got another one in {} and no --replace, expected that or another folder",
            file.to.string(), from);
      }
    }
    files.push_back(file);
  }
  return files;
}

/// Writes the copies. Throws RuntimeFailure(cannot_write).
void copy_files(const std::vector<CopiedFile>& files) {
  for (const CopiedFile& file : files) save_text(file.to.string(), text_of_file(file.from));
}

/// Writes the weights of --base with the additions in the file merged into them.
void export_merged(const ExchangeFlags& flags, SavedStates& states, const std::string& spec) {
  const Graph graph = graph_of(job_of(spec));
  const std::vector<NamedType> weights = weights_of(graph), adapters = adapters_of(graph);
  saved_types(adapters, states, spec);
  const auto given = std::ranges::count_if(states.entries(), [](const SavedState& one) { return is_addition(one); });
  if (given != std::ssize(adapters)) {
    throw InvalidArgument("[export] {}: the model has other additions, got {} matrices in the file, expected {} of {}",
                          states.path(), given, adapters.size(), spec);
  }
  std::vector<std::string> names;
  for (const NamedType& one : adapters) names.push_back(one.name);
  ReadTensor base;
  std::shared_ptr<WeightSource> source;
  std::shared_ptr<SavedStates> saved;
  if (is_hugging_face(flags.base)) {
    const std::string folder = std::string(kHuggingFace) + hugging_face_folder(flags.base);
    require_same_sizes("[export] " + states.path(), make_model(spec), make_model(folder), /*tunes=*/false);
    source = open_hugging_face(flags.base, weights);
    base = [source, named = by_name(weights)](const std::string& name) { return read_whole(*source, named.at(name)); };
  } else {
    saved = std::make_shared<SavedStates>(flags.base);
    saved_types(weights, *saved, spec);
    base = [saved](const std::string& name) { return saved->read(name); };
  }
  const std::vector<NamedType> exported = saved == nullptr ? weights : saved_types(weights, *saved, spec);
  const ReadTensor own = [&](const std::string& name) { return states.read(name); };
  std::set<std::string> moved;  // statistics, which move while additions are trained
  for (const SavedState& entry : states.entries()) {
    if (entry.kind == StateKind::statistic || entry.name.ends_with(".running_mean") ||
        entry.name.ends_with(".running_var")) {
      moved.insert(entry.name);
    }
  }
  base = [base, own, moved](const std::string& name) { return moved.contains(name) ? own(name) : base(name); };
  files_to_copy(flags);  // refuses before anything is written
  export_hugging_face(make_model(without_adapters(spec)), exported, merged(make_model(spec), names, own, base),
                      flags.out, flags.replaces);
  copy_files(files_to_copy(flags));
  std::cout << fmt::format("{}: {} weights of {}, with {} additions\n", flags.out, exported.size(),
                           without_adapters(spec), adapters.size() / 2);
}

void run_export(const ExchangeFlags& flags) {
  if (is_hugging_face(flags.paths[0])) {
    throw InvalidArgument("[export] {}: a folder of Hugging Face, expected weights or a checkpoint of partita",
                          flags.paths[0]);
  }
  SavedStates states(flags.paths[0]);
  const std::string spec = model_of(flags, states);
  const bool has_adapters = std::ranges::any_of(states.entries(), is_addition);
  const bool has_weights = std::ranges::any_of(states.entries(), [](const SavedState& entry) {
    return entry.kind == StateKind::parameter && !is_adapter(entry.name);
  });
  if (has_adapters && has_weights && flags.base.empty()) {  // a checkpoint, which has the weights, too
    ExchangeFlags own = flags;
    own.base = flags.paths[0];
    return export_merged(own, states, spec);
  }
  if (has_adapters == flags.base.empty()) {
    throw InvalidArgument("[export] {}: {}", states.path(),
                          has_adapters ? "additions to products alone, got no --base, expected the weights they are for"
                                       : fmt::format("whole weights, got --base {}, expected none", flags.base));
  }
  if (has_adapters) return export_merged(flags, states, spec);
  const std::vector<NamedType> exported = saved_types(weights_of(graph_of(job_of(spec))), states, spec);
  files_to_copy(flags);  // refuses before anything is written
  export_hugging_face(
      make_model(spec), exported, [&](const std::string& name) { return states.read(name); }, flags.out,
      flags.replaces);
  copy_files(files_to_copy(flags));
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
  out->add_option("--like", flags->like,
                  "Copy the tokenizer and the like of this folder; default: --base, if it is one")
      ->type_name("DIR");
  out->add_flag("--replace", flags->replaces, "Replace files that the folder has");
  out->add_option("--base", flags->base, "Weights that the additions (lora) in PATH are merged into")
      ->type_name("PATH");
  out->footer("Example: partita export run --out folder");
}

}  // namespace partita
