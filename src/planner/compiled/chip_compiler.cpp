#include "planner/compiled/chip_compiler.h"

#include <cstdlib>
#include <set>

#include "base/plain_text.h"
#include "ir/ops/registry.h"
#include "planner/cluster/presets.h"
#include "runtime/device/xla/plugin_search.h"
#include "runtime/device/xla/xla_flags.h"

namespace partita {
namespace {

/// Loads the plugin for a target, whose variables are set for it.
pjrt::Plugin load_plugin(pjrt::Target& target, const std::function<void(std::string_view)>& warn) {
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "2", /*overwrite=*/0);  // plugins print notes
  // Without these libtpu asks for minutes on which machine of a cloud it is, and one process at a time loads it.
  for (const auto& [name, value] : target.variables) ::setenv(name.c_str(), value.c_str(), /*overwrite=*/0);
  const std::string path = find_plugin(target.accelerator);
  pass_on_flags(target.accelerator, path, warn);
  target.flags.merge(compile_flags(target.accelerator, path));
  return pjrt::Plugin::load(path);
}

/// Returns the chips that the ranks of a stage have together in whole mode.
int64_t chips_of(const Program& program, CollectiveMode mode) {
  int64_t chips = 1;
  for (const StageProgram& stage : program.stages) {
    if (mode == CollectiveMode::whole) chips = std::max(chips, stage.local.mesh.ranks());
  }
  return chips;
}

/// Returns `chips` chips of the target.
pjrt::Topology topology_for(const pjrt::Plugin& plugin, const pjrt::Target& target, int64_t chips) {
  try {
    return topology_of(plugin, target, chips);
  } catch (const RuntimeFailure& error) {
    if (error.code() != ExitCode::usage) throw;
    const std::string_view reason = error.what();
    throw RuntimeFailure(error.code(),
                         "[--target] {} needs the plugin for {}, got one that refuses it, expected that of pip install "
                         "{}, or a later version: {}",
                         target.name, target.accelerator, parse_accelerator(target.accelerator).first->package,
                         reason.substr(0, reason.find('\n')));
  }
}

}  // namespace

std::vector<int64_t> first_ranks(const Pipeline& pipeline) {
  std::vector<int64_t> ranks;
  for (const RankGroup& group : pipeline.groups) ranks.push_back(group.first);
  return ranks;
}

const pjrt::Target& target_of_cluster(std::string_view cluster) {
  const std::string preset = lower_case(cluster.substr(0, cluster.find_first_of(":@")));
  std::vector<std::string_view> names;
  for (const pjrt::Target& target : pjrt::targets()) {
    if (target.name == preset && !is_cluster_file(cluster)) return target;
    names.push_back(target.name);
  }
  throw InvalidArgument("[--check] no programs are compiled for these devices, got {}, expected one of {}", cluster,
                        fmt::join(names, " "));
}

ChipCompiler::ChipCompiler(const pjrt::Target& target, const std::function<void(std::string_view)>& warn)
    : target_(target), plugin_(load_plugin(target_, warn)) {}

CompiledJob ChipCompiler::compile(const Program& program, const CompileRequest& request,
                                  const std::string& model) const {
  const pjrt::Topology topology = topology_for(plugin_, target_, chips_of(program, request.modes.collectives));
  CompiledJob compiled{.model = model,
                       .plugin = fmt::format("{}.{}", plugin_.version().major, plugin_.version().minor),
                       .target = target_,
                       .modes = request.modes};
  std::set<std::string> known;
  for (const int64_t rank : request.ranks) {
    RankPrograms own = programs_of_rank(program.pipeline, program.stages, all_ops(), rank, request.modes.collectives);
    compiled.host_ops += own.host_ops;
    compiled.messages += own.messages;
    compiled.sent += own.sent;
    for (RankProgram& one : own.programs) {
      if (!known.insert(one.text).second) continue;
      compiled.programs.push_back(
          compile_program(topology, target_, rank, std::move(one), compiled.programs.size(), request.folder));
    }
  }
  return compiled;
}

}  // namespace partita
