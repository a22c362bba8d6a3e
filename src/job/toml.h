#pragma once
// A configuration as a TOML file: "model" and "force" at its head, then a table per section.

#include "job/options.h"

namespace partita {

/// Every option that is set, in the order of job_options(); `parse_config` reads the same configuration back.
std::string print(const JobConfig& config);
/// The same without files and what is printed: what was computed, and where.
std::string print_computation(const JobConfig& config);

/// What a text says, option by option; `path` stands in messages. Throws InvalidFile with the line for what is not
/// TOML, an unknown section or key (with the nearest), or a value of another kind; values are checked when they are
/// assigned.
std::vector<Assignment> parse_config(std::string_view text, const std::string& path);
/// The same of a file; throws MissingFile, too.
std::vector<Assignment> read_config(const std::string& path);

}  // namespace partita
