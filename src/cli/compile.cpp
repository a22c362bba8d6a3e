// partita compile: the programs of ranks, compiled for a chip that is not there.

#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "base/free_memory.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "planner/compiled/chip_compiler.h"
#include "runtime/checkpoint/weights.h"
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

/// Makes the folder if there is none. Throws RuntimeFailure(cannot_write) if files cannot be written there.
void require_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw RuntimeFailure(ExitCode::cannot_write, "[--out] cannot make the folder {}: {}", folder, failure.message());
  }
  check_writable(std::filesystem::path(folder) / "program_0.mlir");
}

void run_compile(const CompileFlags& flags) {
  const pjrt::Target& target = pjrt::target_named(flags.target);
  JobConfig config = configuration(flags.job);
  config.ranks.device = target.accelerator;
  if (config.ranks.deterministic) {
    warn("[compile] ranks.deterministic has no effect without a device, got true, expected none");
    config.ranks.deterministic = false;
  }
  const ZooJob job(config, this_place().alone());
  if (printed_config(flags.job, job.config())) return;
  if (flags.rank) check_range("--rank", *flags.rank, 0, job.config().ranks.count - 1);
  const ChipCompiler compiler(target, warn);
  require_folder(flags.out);
  const Program program = job.program(Purpose::training);
  for (const std::string& warning : program.warnings) warn(warning);
  const std::vector<int64_t> ranks = flags.rank ? std::vector<int64_t>{*flags.rank} : first_ranks(program.pipeline);
  const CompiledJob compiled = compiler.compile(
      program, {.modes = choose_modes(config.ranks), .ranks = ranks, .folder = flags.out}, job.config().model);
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
  CLI::App* command =
      add_command(app, "compile",
                  "Compile the programs of a training for a chip that is not there, and print their memory and kernels",
                  flags, run_compile);
  add_job_flags(*command, flags->job, [](const JobOption& option) {
    return decides_program(option) && option.key() != "ranks.device" && option.key() != "ranks.kernels" &&
           option.key() != "ranks.deterministic" && option.key() != "ranks.device_memory";
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
}

}  // namespace partita
