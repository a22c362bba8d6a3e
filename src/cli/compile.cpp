// partita compile: the programs of ranks, compiled for a chip that is not there.

#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "base/free_memory.h"
#include "cli/command_line.h"
#include "cli/compiled_programs.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "ir/ops/registry.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/device/xla/accelerator.h"
#include "runtime/device/xla/xla_flags.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

struct CompileFlags {
  JobFlags job;
  std::string target, out;
  std::optional<int64_t> rank;  // none: the first rank of each group of stages
  bool json = false;
};

std::string target_names() {
  std::vector<std::string> names;
  for (const pjrt::Target& target : pjrt::targets()) names.push_back(target.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Sets variables that the plugin reads, unless they have a value: libtpu would ask for minutes on which machine of a
/// cloud it is, and lets one process at a time load it; plugins print notes.
void set_variables_of(const pjrt::Target& target) {
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "2", /*overwrite=*/0);
  for (const auto& [name, value] : target.variables) ::setenv(name.c_str(), value.c_str(), /*overwrite=*/0);
}

/// Makes the folder if there is none. Throws RuntimeFailure(cannot_write) if files cannot be written there.
void require_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw RuntimeFailure(ExitCode::cannot_write,
                         fmt::format("[--out] cannot make the folder {}: {}", folder, failure.message()));
  }
  check_writable(std::filesystem::path(folder) / "program_0.mlir");
}

/// Returns the ranks whose programs are compiled.
std::vector<int64_t> compiled_ranks(const CompileFlags& flags, const Pipeline& pipeline) {
  if (flags.rank) return {*flags.rank};
  std::vector<int64_t> ranks;
  for (const RankGroup& group : pipeline.groups) ranks.push_back(group.first);
  return ranks;
}

/// Returns the chips that the ranks of a stage have together in whole mode.
int64_t chips_of(const Program& program, CollectiveMode mode) {
  int64_t chips = 1;
  for (const StageProgram& stage : program.stages) {
    if (mode == CollectiveMode::whole) chips = std::max(chips, stage.local.mesh.ranks());
  }
  return chips;
}

/// Returns `chips` chips of the target. If the plugin does not know them, throws RuntimeFailure(usage) with the package
/// that has the right plugin.
pjrt::Topology topology_for(const pjrt::Plugin& plugin, const pjrt::Target& target, int64_t chips) {
  try {
    return topology_of(plugin, target, chips);
  } catch (const RuntimeFailure& error) {
    if (error.code() != ExitCode::usage) throw;
    const std::string_view reason = error.what();
    throw RuntimeFailure(
        error.code(), fmt::format("[--target] {} needs the plugin for {}, got one that refuses it, expected that of "
                                  "pip install {}, or a later version: {}",
                                  target.name, target.accelerator, parse_accelerator(target.accelerator).first->package,
                                  reason.substr(0, reason.find('\n'))));
  }
}

void compile_ranks(const CompileFlags& flags, const Program& program, CollectiveMode mode,
                   const pjrt::Topology& topology, CompiledJob& compiled) {
  std::set<std::string> known;
  for (const int64_t rank : compiled_ranks(flags, program.pipeline)) {
    RankPrograms own = programs_of_rank(program.pipeline, program.stages, all_ops(), rank, mode);
    compiled.host_ops += own.host_ops;
    compiled.messages += own.messages;
    for (RankProgram& one : own.programs) {
      if (!known.insert(one.text).second) continue;
      compiled.programs.push_back(
          compile_program(topology, *compiled.target, rank, std::move(one), compiled.programs.size(), flags.out));
    }
  }
}

void run_compile(const CompileFlags& flags) {
  pjrt::Target target = pjrt::target_named(flags.target);
  JobConfig config = configuration(flags.job);
  config.ranks.device = target.accelerator;
  if (config.ranks.deterministic) {
    warn("[compile] ranks.deterministic has no effect without a device, got true, expected none");
    config.ranks.deterministic = false;
  }
  const ZooJob job(config, Place{.cores = this_place().cores});
  if (printed_config(flags.job, job.config())) return;
  if (flags.rank) check_range("--rank", *flags.rank, 0, job.config().ranks.count - 1);
  set_variables_of(target);
  const std::string path = find_plugin(target.accelerator);
  pass_on_flags(target.accelerator, path, warn);
  target.flags.merge(compile_flags(target.accelerator, path));
  const pjrt::Plugin plugin = pjrt::Plugin::load(path);
  require_folder(flags.out);
  const Program program = job.program(Purpose::training);
  for (const std::string& warning : program.warnings) warn(warning);
  const CollectiveMode mode = config.ranks.collectives;
  const pjrt::Topology topology = topology_for(plugin, target, chips_of(program, mode));
  CompiledJob compiled{.model = job.config().model,
                       .plugin = fmt::format("{}.{}", plugin.version().major, plugin.version().minor),
                       .target = &target};
  compile_ranks(flags, program, mode, topology, compiled);
  std::cout << (flags.json ? to_json(compiled) : print_table(compiled));
  if (compiled.programs.empty()) return;
  const int64_t most = std::max(compiled.largest().bytes(), compiled.programs[compiled.peak()].bytes_of_step());
  if (most > target.memory) {
    warn(fmt::format("[compile] the step does not fit the chip, got {}, expected at most {}", print_bytes(most),
                     print_bytes(target.memory)));
  }
}

}  // namespace

void add_compile(CLI::App& app) {
  const auto flags = std::make_shared<CompileFlags>();
  CLI::App* command = app.add_subcommand(
      "compile", "Compile the programs of a training for a chip that is not there, and print their memory and kernels");
  add_job_flags(*command, flags->job, [](const JobOption& option) {
    return decides_program(option) && option.key() != "ranks.device" && option.key() != "ranks.kernels" &&
           option.key() != "ranks.deterministic";
  });
  command->add_option("--target", flags->target, "The chip: " + target_names())->required()->type_name("CHIP");
  command->add_option("--rank", flags->rank,
                      "Compile the programs of this rank; by default of the first rank of each group of stages");
  command->add_option("--out", flags->out, "Write each program, as StableHLO and optimised, to this folder")
      ->type_name("FOLDER");
  command->add_flag("--json", flags->json, "For programs");
  command->footer(
      "Needs the plugin of the chip's device, but no device.\n"
      "Example: partita compile gpt --target h100 --precision bf16 --batch 32");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_compile(*flags);
  });
}

}  // namespace partita
