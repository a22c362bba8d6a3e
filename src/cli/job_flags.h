#pragma once
// The flags of a command that says something of a job.

#include <CLI/CLI.hpp>

#include "job/options.h"
#include "zoo/zoo_job.h"

namespace partita {

/// What a command line said.
struct JobFlags {
  std::string command;              // its name
  std::string model;                // "" when the configuration file names it
  std::string config_file;          // --config
  bool print_config = false;        // --print-config: print it and do nothing else
  std::vector<Assignment> given{};  // by flags
};

/// Adds MODEL, --config, --print-config and the flags of the options that `takes` says. A switch gets a --no- form too.
void add_job_flags(CLI::App& command, JobFlags& flags, const std::function<bool(const JobOption&)>& takes);

/// The flags alone.
void add_option_flags(CLI::App& command, JobFlags& flags, const std::function<bool(const JobOption&)>& takes);

/// Options that change what is compiled: those of the commands that print programs and run none.
bool decides_program(const JobOption& option);

/// What the file and then the flags say, without the model that the file names.
std::vector<Assignment> assignments_without_model(const JobFlags& flags);

/// What the command line says as a whole: the recipe of the model, changed by the file, changed by the flags. Throws
/// InvalidArgument when nothing names a model.
JobConfig configuration(const JobFlags& flags);

/// Whether a flag said something for the option. A file may say all of a configuration, also what has no effect.
bool is_given(const JobFlags& flags, std::string_view key);

/// Prints the configuration when --print-config asks for it; true: nothing else is to be done.
bool printed_config(const JobFlags& flags, const JobConfig& config);

/// Flags that are called so in other programs: "batch-size" -> "--batch"; "" when none is known.
std::string flag_by_synonym(std::string_view flag);

}  // namespace partita
