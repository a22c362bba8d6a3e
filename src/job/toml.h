#pragma once
// A configuration as a TOML file: "model" and "force" first, then a table per section.

#include "job/options.h"

namespace partita {

/// Returns a header line and every option that is set, in the order of job_options(), as TOML. `parse_config` reads the
/// same configuration back.
std::string print(const JobConfig& config);
/// Returns what `print` does, without options of files and of the console: what was computed, and where.
std::string print_computation(const JobConfig& config);

/// Parses a text into assignments, which check the values when they are assigned. `path` is used in messages. Throws
/// InvalidFile with the line if the text is not TOML, for an unknown section or key (with the nearest one), for a key
/// of too many parts, and for a value that is no text, number, bool or list of these.
std::vector<Assignment> parse_config(std::string_view text, const std::string& path);
/// Reads a file and parses it with `parse_config`. Throws MissingFile if it is no regular file or cannot be read,
/// InvalidFile if it is larger than 1 MiB, and as `parse_config` does.
std::vector<Assignment> read_config(const std::string& path);

}  // namespace partita
