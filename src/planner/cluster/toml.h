#pragma once
// A cluster as a TOML file.

#include "planner/cluster/cluster.h"

namespace partita {

/// Every field but zeros and empty lists, which are the defaults, in one order and with numbers that read back:
/// printing what was read gives the same text.
std::string print(const Cluster& cluster);

/// The keys whose values were fitted, and these values as the file has them.
std::vector<std::pair<std::string, std::string>> fitted_values(const Cluster& cluster);

/// Reads and verifies a cluster; `path` stands in messages. Throws InvalidFile with the line and the key for what is
/// not TOML, an unknown key (with the nearest), one that is missing, a value of another kind or outside of its range.
Cluster parse_cluster(std::string_view text, const std::string& path);
/// The same of a file; throws MissingFile, too.
Cluster read_cluster(const std::string& path);

}  // namespace partita
