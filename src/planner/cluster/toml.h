#pragma once
// Clusters as TOML files.

#include "planner/cluster/cluster.h"

namespace partita {

/// The TOML text of a cluster, with its fields in a fixed order. Zeros and empty lists are left out, since they are the
/// defaults. Numbers are exact: reading the text and printing the result gives the same text.
std::string print(const Cluster& cluster);

/// Returns the keys whose values were fitted, each with its value as the file prints it; "0" for a key that the file
/// leaves out.
std::vector<std::pair<std::string, std::string>> fitted_values(const Cluster& cluster);

/// Parses and verifies a cluster; `path` is its name in messages. Throws InvalidFile with the line, and the key where
/// there is one, if the text is not TOML or nests too deeply, a key is unknown (with the nearest one) or missing, a
/// value has the wrong type or is out of range, values do not fit each other, or `fitted` names no key of the file.
Cluster parse_cluster(std::string_view text, const std::string& path);
/// Reads, parses and verifies a cluster file. Throws MissingFile if it is no regular file or cannot be read,
/// InvalidFile if it has more than 1 MiB, and as `parse_cluster` does.
Cluster read_cluster(const std::string& path);

}  // namespace partita
