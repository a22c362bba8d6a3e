#pragma once
// Nodes as StableHLO on the first device of the plugin that PARTITA_PJRT_PLUGIN names (tools/xla/get_plugin.sh brings
// one for CPUs).

#include "harness.h"

namespace partita::laws {

/// Whether a plugin is named.
bool has_plugin();
/// Name of the plugin's platform, such as "cuda"; "" without a plugin.
std::string plugin_platform();
/// Results of the node as the plugin compiles and runs it.
std::vector<Array> run_emitted(const Case& node);
/// Results of a program from the operands of the node.
std::vector<Array> run_text(const Case& node, const std::string& text);
/// "" or where its results differ from those of the case by more than a tolerance, as `differs` takes it. NaN is equal
/// to NaN.
std::string check_emitted(const Case& node, double tolerance = 0);

}  // namespace partita::laws
