#pragma once
// The files of presets/, which the build embeds (cmake/embedded_texts.cmake).

#include <vector>

#include "base/embedded_text.h"

namespace partita {

/// Returns the presets of clusters, each as a cluster file (toml.h) for one node, in the order in which messages list
/// them. The name of its software stands for all of the software's costs (software.h).
const std::vector<EmbeddedText>& preset_texts();

}  // namespace partita
