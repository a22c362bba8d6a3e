#pragma once
// The files of presets/, which the build embeds (cmake/embedded_texts.cmake).

#include <string_view>
#include <vector>

namespace partita {

struct EmbeddedText {
  std::string_view name, text;
};

/// Returns the presets of clusters, each as a cluster file (toml.h) for one node, in the order in which messages list
/// them. The name of its software stands for all of the software's costs (software.h).
const std::vector<EmbeddedText>& preset_texts();

}  // namespace partita
