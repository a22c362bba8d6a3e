// partita checkpoint: what folders of checkpoints hold, and checkpoints in other forms.

#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/is_folder.h"
#include "base/rank_limit.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "job/toml.h"
#include "planner/plan_file/plan_file.h"
#include "runtime/checkpoint/checkpoint_saving.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/launch/owner_lock.h"
#include "runtime/launch/place.h"
#include "training/configuration.h"
#include "training/memory.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

struct CheckpointFlags {
  std::string path, other, out, dtype, plan;
  std::optional<int64_t> ranks;
  bool all = false;
};

std::string print_time(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// Prints a line for each tensor, in the order of the manifest: its kind, name and type, and the files that hold it,
/// each with the part in brackets unless it holds the whole tensor.
void print_pieces(const Manifest& manifest) {
  for (const ManifestTensor& tensor : manifest.tensors) {
    std::string pieces;
    for (const ManifestPiece& piece : tensor.pieces) {
      const std::string box = print_box(piece.box);
      pieces += fmt::format("{} {}{}", pieces.empty() ? "" : ",", manifest.files[static_cast<size_t>(piece.file)].name,
                            box.empty() ? "" : fmt::format(" [{}]", box.substr(0, box.find(" of"))));
    }
    std::cout << fmt::format("{} {} {}:{}\n", name_of(tensor.kind), printable(tensor.name), print(tensor.type),
                             printable(pieces));
  }
}

/// Prints a heading, and a line for each checkpoint in the folder `flags.path`, the newest last, with the fault of a
/// damaged one. If the path is itself a checkpoint, prints its line and all of its tensors. Throws MissingFile if the
/// folder is missing or cannot be read, and InvalidFile if the path is a damaged checkpoint.
void run_list(const CheckpointFlags& flags) {
  std::vector<FoundCheckpoint> found;
  if (is_checkpoint_folder(flags.path)) {
    found.push_back({.path = flags.path, .manifest = read_manifest(flags.path), .damage = ""});
  } else {
    if (!is_folder(flags.path)) {
      throw MissingFile("[checkpoint] there is no folder {}", flags.path);
    }
    found = list_checkpoints(flags.path);
  }
  std::cout << fmt::format("{:<24} {:>10} {:>6} {:>8} {:>12}  {}\n", "checkpoint", "step", "ranks", "tensors", "bytes",
                           "written (UTC)");
  for (const FoundCheckpoint& one : found) {
    const std::string name = std::filesystem::path(one.path).filename().string();
    if (!one.manifest) {
      std::cout << fmt::format("{:<24} {}\n", name, printable(one.damage));
      continue;
    }
    const Manifest& manifest = *one.manifest;
    std::cout << fmt::format("{:<24} {:>10} {:>6} {:>8} {:>12}  {}\n", name, manifest.position.step, manifest.ranks,
                             manifest.tensors.size(), manifest.tensor_bytes(), print_time(manifest.seconds));
  }
  if (is_checkpoint_folder(flags.path)) print_pieces(*found[0].manifest);
}

void verify_one(const std::string& path) {
  SavedStates states(path);
  verify_states(states);
  int64_t bytes = 0;
  for (const auto& entry : states.entries()) bytes += entry.type.bytes();
  const std::string step = states.position() ? fmt::format("step {}, ", states.position()->step) : "";
  std::cout << fmt::format("{}: {}{} tensors, {}: whole\n", states.path(), step, states.entries().size(),
                           print_bytes(bytes));
}

void run_verify(const CheckpointFlags& flags) {
  if (!is_folder(flags.path) || is_checkpoint_folder(flags.path)) return verify_one(flags.path);
  const std::vector<FoundCheckpoint> found = list_checkpoints(flags.path);
  if (found.empty()) throw MissingFile("[checkpoint] no checkpoint in {}", flags.path);
  for (const FoundCheckpoint& one : found) {
    if (!one.manifest) throw InvalidFile(one.damage);
    verify_one(one.path);
  }
}

void run_merge(const CheckpointFlags& flags) {
  SavedStates states(flags.path);
  merge_states(states, flags.out, flags.all);
  std::cout << fmt::format("{} merged into {}\n", states.path(), flags.out);
}

/// Returns for each state which of `ranks` ranks writes which box of it, if each of them holds all states: one rank
/// writes it whole, or several share it where that balances the work (`share_states`).
std::vector<std::vector<StateShare>> even_shares(const SavedStates& states, int ranks) {
  std::vector<HeldState> held;
  for (const auto& entry : states.entries()) {
    HeldState& state = held.emplace_back(HeldState{entry.name, entry.type, entry.kind, {}});
    for (int rank = 0; rank < ranks; ++rank) state.holders.push_back({rank, whole_box(entry.type.shape)});
  }
  return share_states(held, ranks);
}

/// Compiles the training of a checkpoint under another plan, up to the partition. Throws InvalidArgument if neither the
/// plan nor the checkpoint names a model, if an option is bad, or if the plan does not fit the model, InvalidFile for a
/// damaged configuration in the checkpoint, and as `ZooJob::program` does.
Program program_under(const PlanFile& plan, const SavedStates& states) {
  const Metadata& metadata = states.metadata();
  const auto saved = metadata.find(kConfigKey);
  std::vector<Assignment> all;
  if (saved != metadata.end()) all = parse_config(saved->second, states.path());
  std::string model = take_model(all);
  if (model.empty()) model = plan.model;
  if (model.empty()) {
    throw InvalidArgument(
        "[--plan] {} and {} belong to a network defined in a program, got no model name, expected --ranks N", plan.path,
        states.path());
  }
  const ZooJob job(with_plan(configured(model, all), plan), Place{.cores = 1});
  return job.program(Purpose::training, Stage::partition);
}

/// Returns which rank of the plan in the file `path` writes which box of each saved state: one of the ranks that hold
/// the box, or several that share it where that balances the work (`share_states`). Throws MissingFile if the plan
/// cannot be read, InvalidArgument if it is malformed or for another network or optimizer, and as `program_under` does.
SplitTarget planned_target(const SavedStates& states, const std::string& path) {
  const PlanFile plan = read_plan_file(path);
  const Program program = program_under(plan, states);
  const std::vector<HeldState> held = held_states(program);
  SplitTarget target{.ranks = static_cast<int>(plan.ranks), .mesh = print_meshes(program), .plan = print(plan)};
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < held.size(); ++i) places.emplace(held[i].name, i);
  const std::vector<std::vector<StateShare>> shares = share_states(held, target.ranks);
  for (const auto& entry : states.entries()) {
    const auto place = places.find(entry.name);
    if (place == places.end() || held[place->second].type.shape != entry.type.shape) {
      throw InvalidArgument("[--plan] {} is for another network or optimizer, got {} {} in {}, expected {}", path,
                            entry.name, print(entry.type), states.path(),
                            place == places.end() ? "no tensor of this name" : print(held[place->second].type));
    }
    target.shares.push_back(shares[place->second]);
  }
  return target;
}

void split(SavedStates& states, const CheckpointFlags& flags, const SplitTarget& target) {
  const OwnerLock lock(owned_checkpoints(flags.out), /*waits=*/false, warn_of_rank);
  const std::string path = split_states(states, flags.out, target);
  std::cout << fmt::format("{} written to {} in {} {}\n", states.path(), path, target.ranks,
                           target.ranks == 1 ? "file" : "files");
}

void run_split(const CheckpointFlags& flags) {
  if (flags.plan.empty() == !flags.ranks.has_value()) {
    throw InvalidArgument("[split] the target is unclear, got {}, expected one of --ranks N and --plan FILE",
                          flags.plan.empty() ? "neither" : "both");
  }
  SavedStates states(flags.path);
  if (!flags.plan.empty()) return split(states, flags, planned_target(states, flags.plan));
  check_range("--ranks", *flags.ranks, 1, kMaxJobRanks);
  const auto ranks = static_cast<int>(*flags.ranks);
  split(states, flags, {.ranks = ranks, .shares = even_shares(states, ranks)});
}

void run_print_plan(const CheckpointFlags& flags) {
  const SavedStates states(flags.path);
  const Manifest* manifest = states.manifest();
  if (manifest == nullptr || manifest->plan.empty()) {
    throw InvalidFile(
        "[checkpoint] {}: it holds no plan, got {}, expected the checkpoint of a training that ran a plan",
        states.path(), manifest == nullptr ? "one file" : "a manifest without one");
  }
  std::cout << print(parse_plan_file(manifest->plan, states.path()));
}

/// Whether a path ends as that of a file in a format that `save_tensors` writes.
bool names_file(std::string_view path) { return path.ends_with(".ckpt") || path.ends_with(".safetensors"); }

void run_convert(const CheckpointFlags& flags) {
  const std::optional<DType> dtype = parse_dtype(flags.dtype);
  if (!flags.dtype.empty() && (!dtype || !is_float(*dtype))) {
    throw InvalidArgument("[--dtype] not a floating-point type, got '{}', expected one of f64 f32 bf16 f16",
                          flags.dtype);
  }
  SavedStates states(flags.path);
  if (names_file(flags.out) && !is_folder(flags.out)) {
    convert_states(states, flags.out, dtype);
    std::cout << fmt::format("{} written to {}: {} tensors\n", states.path(), flags.out, states.entries().size());
    return;
  }
  if (!states.position()) {
    throw InvalidArgument("[--out] {} has only weights, got the folder {}, expected FILE.safetensors or FILE.ckpt",
                          states.path(), flags.out);
  }
  const auto ranks = static_cast<int>(states.manifest() != nullptr ? states.manifest()->ranks : 1);
  split(states, flags, {.ranks = ranks, .shares = even_shares(states, ranks), .dtype = dtype});
}

void run_compare(const CheckpointFlags& flags) {
  SavedStates first(flags.path), second(flags.other);
  const std::vector<StateDifference> differences = compare_states(first, second);
  for (const auto& [name, what] : differences) std::cout << fmt::format("{}: {}\n", printable(name), printable(what));
  if (first.position() && second.position() && first.position()->step != second.position()->step) {
    std::cout << fmt::format("step: {} and {}\n", first.position()->step, second.position()->step);
  }
  std::cout << (differences.empty() ? fmt::format("all {} tensors are equal\n", first.entries().size())
                                    : fmt::format("{} tensors differ\n", differences.size()));
}

using CheckpointAction = void (*)(const CheckpointFlags&);

/// Adds the action `name` with its argument PATH, which is stored in `flags->path`, and returns it.
CLI::App* add_action(CLI::App& command, const std::shared_ptr<CheckpointFlags>& flags, const char* name,
                     const char* help, const char* path_help, CheckpointAction run) {
  CLI::App* action = add_command(command, name, help, flags, run);
  action->add_option("PATH", flags->path, path_help)->required();
  return action;
}

}  // namespace

void add_checkpoint(CLI::App& app) {
  constexpr const char* kAny =
      "A checkpoint, a folder with checkpoints (its newest), a safetensors file, or a .ckpt file of MindSpore";
  const auto flags = std::make_shared<CheckpointFlags>();
  CLI::App* command = app.add_subcommand("checkpoint", "List, check, merge, split, convert and compare checkpoints");
  command->require_subcommand(1);
  add_action(*command, flags, "list", "List the checkpoints of a folder", "A folder of --checkpoint, or one checkpoint",
             run_list);
  add_action(*command, flags, "verify", "Read everything, and report the first damaged tensor and its file",
             "A folder of --checkpoint, one checkpoint, a safetensors file, or a .ckpt file of MindSpore", run_verify);
  CLI::App* merge = add_action(*command, flags, "merge", "Write the weights to one safetensors file", kAny, run_merge);
  merge->add_option("--out", flags->out, "The file")->required()->type_name("FILE");
  merge->add_flag("--all", flags->all, "Include the whole state of the training, as --resume needs it");
  CLI::App* split =
      add_action(*command, flags, "split", "Write the files for another number of ranks", kAny, run_split);
  split->add_option("--out", flags->out, "A folder for checkpoints")->required()->type_name("DIR");
  split->add_option("--ranks", flags->ranks, "Number of files, of equal size");
  split->add_option("--plan", flags->plan, "Plan file: each file gets what a rank of the plan holds")
      ->type_name("FILE");
  add_action(*command, flags, "plan",
             "Print the plan of the training that wrote the checkpoint, to use with train --plan",
             "A checkpoint, or a folder with checkpoints (its newest)", run_print_plan);
  CLI::App* convert = add_action(*command, flags, "convert",
                                 "Write another format, or floating-point tensors in another type", kAny, run_convert);
  convert
      ->add_option("--out", flags->out,
                   "FILE.ckpt (MindSpore), FILE.safetensors, or a folder for checkpoints of a training")
      ->required()
      ->type_name("PATH");
  convert->add_option("--dtype", flags->dtype, "f64, f32, bf16 or f16")->type_name("TYPE");
  CLI::App* compare =
      add_action(*command, flags, "diff", "List the tensors in which two checkpoints differ", kAny, run_compare);
  compare->add_option("OTHER", flags->other, "Another one")->required();
  command->footer("Example: partita checkpoint merge run/step_100 --out weights.safetensors");
}

}  // namespace partita
