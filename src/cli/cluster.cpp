// partita cluster: a cluster as a file, and which of its values were fitted to measurements.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/options.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"

namespace partita {
namespace {

struct ClusterFlags {
  std::string cluster;
  bool fitted = false;
};

void run_cluster(const ClusterFlags& flags) {
  const Cluster cluster = open_cluster(flags.cluster);
  if (!flags.fitted) {
    std::cout << print(cluster);
    return;
  }
  for (const auto& [key, value] : fitted_values(cluster)) std::cout << fmt::format("{} = {}\n", key, value);
}

}  // namespace

void add_cluster(CLI::App& app) {
  const auto flags = std::make_shared<ClusterFlags>();
  CLI::App* command = add_command(app, "cluster", "Print a cluster as a file that can be edited", flags, run_cluster);
  command->add_option("CLUSTER", flags->cluster, "PRESET[:NODES][@SOFTWARE] or a TOML file")->required();
  command->add_flag("--fitted", flags->fitted, "Print only the constants that were fitted to measurements");
  command->footer("Example: partita cluster a100-80:4@megatron-core > cluster.toml");
}

}  // namespace partita
