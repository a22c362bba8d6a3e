#pragma once
// Clusters by name.

#include "planner/cluster/cluster.h"

namespace partita {

/// v100 a100-40 a100-80 h100 h200 b200 ascend910 cpu, in nodes of 8 with the network that they usually have.
std::vector<std::string> preset_names();

/// "NAME" for one node, "NAME:NODES" for several, "NAME:NODES@SOFTWARE" with other software (software.h) than what is
/// usually run there. Throws InvalidArgument with the nearest name.
Cluster cluster_named(std::string_view text);

/// The name of the same preset and software with so many times as many nodes. Throws InvalidArgument as `cluster_named`
/// does, but knows nothing of presets.
std::string with_more_nodes(std::string_view text, int64_t times);

/// A text with '/' or ".toml" at its end is a file, any other a name.
bool is_cluster_file(std::string_view text);
/// A preset, or the file of this name.
Cluster open_cluster(std::string_view text);

}  // namespace partita
