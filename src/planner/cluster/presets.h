#pragma once
// Predefined clusters, by name. Each is a cluster file in presets/, which the build embeds; another file there is
// another preset.

#include "planner/cluster/cluster.h"

namespace partita {

/// Returns the names of the presets: v100, a100-40, a100-80, h100, h200, b200, ascend910, the TPUs v5e, v5p and v6e,
/// and cpu. Each is made of nodes of 8 ranks (v5p: 4) with their usual network.
std::vector<std::string> preset_names();

/// Returns a preset by name: "NAME" for one node, "NAME:NODES" for several, either followed by "@SOFTWARE" for other
/// than its usual software (software.h). Letters may be capitals. Its name is "NAME:NODES". Throws InvalidArgument for
/// a bad number of nodes and, with the nearest names, for an unknown preset or software.
Cluster cluster_named(std::string_view text);

/// Returns the name of the preset for a chip of pjrt::targets, with this library's software, whose programs are
/// compiled for it: "h100:4@partita" of "h100:4", "a100-80@partita" of "a100". What follows the chip is that of
/// `cluster_named`, and may name other software. Throws InvalidArgument, with the nearest name, for an unknown chip.
std::string cluster_of_target(std::string_view text);

/// Returns the name of the same preset and software with `times` times as many nodes. Checks neither that the preset
/// exists nor that it can have as many nodes. Throws InvalidArgument if the number of nodes in `text` is malformed or
/// out of range.
std::string with_more_nodes(std::string_view text, int64_t times);

/// Whether a text is a file name: it contains '/' or ends in ".toml".
bool is_cluster_file(std::string_view text);
/// Reads the file of this name if it is one (`is_cluster_file`), else returns the preset. For a file, throws
/// MissingFile if it cannot be read, InvalidFile if it is too large or no valid cluster. For a preset, throws as
/// `cluster_named` does.
Cluster open_cluster(std::string_view text);

}  // namespace partita
