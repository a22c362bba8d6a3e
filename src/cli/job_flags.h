#pragma once
// The flags of a command that describe a job.

#include <CLI/CLI.hpp>

#include "job/options.h"
#include "zoo/zoo_job.h"

namespace partita {

/// Values given on the command line.
struct JobFlags {
  std::string command;              // name of the command
  std::string model;                // "" if the configuration file names it
  std::string config_file;          // --config
  bool print_config = false;        // --print-config
  std::vector<Assignment> given{};  // by flags
};

/// Adds MODEL, --config, --print-config and the flags of the options for which `takes` is true. A switch gets a --no-
/// form, too. `flags` receives the values when the command line is parsed, and must live until then.
void add_job_flags(CLI::App& command, JobFlags& flags, const std::function<bool(const JobOption&)>& takes);

/// Adds only the flags of the options for which `takes` is true; an option without a flag is left out. `flags` must
/// live as for `add_job_flags`.
void add_option_flags(CLI::App& command, JobFlags& flags, const std::function<bool(const JobOption&)>& takes);

/// Whether the option changes what is compiled: also the source of the rows and the plan, but not the learning rate's
/// schedule. Commands that print programs and run none take these options.
bool decides_program(const JobOption& option);

/// Whether the option decides which values of the forward pass have 16 bits.
bool rounds_values(const JobOption& option);

/// Returns the assignments of the file of --config, if it is given, then those of the flags, without one of the model.
/// Throws MissingFile if the file cannot be read, InvalidFile if it is too large or no configuration. Values are not
/// checked.
std::vector<Assignment> assignments_without_model(const JobFlags& flags);

/// Removes the assignments of the model from `all`. Returns the model of the last one; "" if there is none.
std::string take_model(std::vector<Assignment>& all);

/// Returns the configuration of the command line: the recipe of the model, changed by the file of --config, then by the
/// flags, then by the plan that one of them names. "auto" searches a plan. If neither names a model, it comes from the
/// weights (for eval and generate) or else from the plan. Warns on stderr if `train` computes in another type than its
/// plan. Throws InvalidArgument if nothing names a model, for a value that is bad or contradicts the plan, for a plan
/// of another network, and as `automatic_plan` does, and MissingFile or InvalidFile for a file that is missing or
/// damaged.
JobConfig configuration(const JobFlags& flags);

/// Whether a flag set the option of this key ("training.batch"). Values from a file do not count, since a file may
/// contain options that have no effect.
bool is_given(const JobFlags& flags, std::string_view key);
/// Whether a flag or the configuration file set the option of this key. Throws MissingFile if the file cannot be read,
/// InvalidFile if it is too large or no configuration.
bool is_set(const JobFlags& flags, std::string_view key);

/// Prints the configuration to stdout if --print-config asks for it. Returns whether it did; the command then ends.
bool printed_config(const JobFlags& flags, const JobConfig& config);

/// Returns the flag for another program's name of it, "batch-size" -> "--batch"; "" if none is known.
std::string flag_by_synonym(std::string_view flag);

}  // namespace partita
