#include "training/configuration.h"

#include <algorithm>

#include "data/loading/batch.h"
#include "job/toml.h"
#include "launch/fingerprint.h"
#include "partition/collectives.h"
#include "partition/print_rank.h"
#include "training/memory.h"

namespace partita {
namespace {

constexpr const char *kProgram = "partita.program", *kRows = "partita.rows";

/// What a training graph computes, as text: without what changes when its code is moved (the files and lines of
/// calls), when it has other stages, or when it keeps less (copies of nodes in the backward, outputs with rows). The
/// backward follows from the forward.
std::string print_computed(Graph graph) {
  std::erase_if(graph.nodes, [](const Node& node) { return node.phase == Phase::backward; });
  std::erase_if(graph.outputs, [&](const Output& output) { return graph.type(output.value).rank() > 0; });
  for (Node& node : graph.nodes) {
    node.source = {};
    node.recompute.clear();
    node.stage = -1;
  }
  return print(graph);
}

bool is_allowed(const JobConfig& config, const std::string& key) {
  const auto& allowed = config.files.resume_with;
  return std::find(allowed.begin(), allowed.end(), key) != allowed.end();
}

std::string shown(const std::string& text) { return text.empty() ? "nothing" : text; }

}  // namespace

Metadata describe_weights(const JobConfig& config) { return {{kConfigKey, print_computation(config)}}; }

uint64_t digest_of_rows(const DatasetPtr& rows, int64_t batch) {
  uint64_t digest = 0;
  for (const Array& column : Batcher(rows, {.batch = std::min(batch, rows->size())}).batch(0, 0).arrays) {
    digest = digest_of(column, digest);
  }
  return digest;
}

Metadata describe_training(const JobConfig& config, const Graph& graph, const DatasetPtr& rows) {
  return {{kConfigKey, print_computation(config)},
          {kProgram, print_digest(digest_of(print_computed(graph)))},
          {kRows, print_digest(digest_of_rows(rows, config.training.batch))}};
}

void require_same_training(const JobConfig& config, const Metadata& now, const Metadata& saved,
                           const std::string& path) {
  for (const char* key : {kConfigKey, kProgram, kRows}) {
    if (!saved.contains(key)) return;
  }
  std::string found;
  bool changed = false;
  const auto add = [&](const std::string& key, const std::string& difference) {
    changed = true;
    if (is_allowed(config, key)) return;
    found += fmt::format("{}{}{}", found.empty() ? "" : ", ", key, difference);
  };
  JobConfig then;
  assign(then, parse_config(saved.at(kConfigKey), path));
  for (const auto& [option, got, expected] : differences(config, then)) {
    if (option->effect != Effect::program) continue;
    add(option->key(), fmt::format(" = {} instead of {}", shown(got), shown(expected)));
  }
  if (now.at(kRows) != saved.at(kRows)) add("rows", " that are others");
  // What a configuration does not say: a network in code, statistics over other groups.
  if (!changed && now.at(kProgram) != saved.at(kProgram)) add("program", " that computes something else");
  if (found.empty()) return;
  throw InvalidFile(fmt::format(
      "[resume] {}: a checkpoint of another training, got {}, expected the same; --resume-with KEY accepts a "
      "difference",
      path, found));
}

std::string describe_program(const Program& program) {
  int64_t states = 0;
  for (const State& state : program.graph.states) states += program.graph.type(state.entry).bytes();
  std::string text;
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    const auto& [graph, plan, local, schedule] = program.stages[stage];
    const auto& nodes = local.graph.nodes;
    if (program.stages.size() > 1) {
      const RankGroup& group = program.pipeline.group_of(static_cast<int>(stage));
      text += fmt::format("stage {} on ranks {} to {}, {}: ", stage, group.first, group.first + group.count - 1,
                          print_bytes(schedule.arena_bytes));
    }
    text += fmt::format("plan {}: {}, {} nodes, {} of them collectives\n", plan.search, print(plan.mesh), nodes.size(),
                        std::count_if(nodes.begin(), nodes.end(), is_collective));
  }
  text += fmt::format("memory: {} of each rank, states of {} in all\n", print_bytes(largest_arena(program)),
                      print_bytes(states));
  text += "passes:";
  for (const PassTime& pass : program.times) text += fmt::format(" {} {:.3f} s", pass.name, pass.seconds);
  return text + "\n";
}

std::string print_rank(const Program& program, const OpSet& ops, int64_t rank) {
  std::string text;
  for (size_t stage = 0; stage < program.stages.size(); ++stage) {
    const RankGroup& group = program.pipeline.group_of(static_cast<int>(stage));
    if (!group.contains(rank)) continue;
    if (program.stages.size() > 1) text += fmt::format("# stage {} of {}\n", stage, program.stages.size());
    text += print_rank(program.stages[stage].local, ops, rank - group.first);
  }
  return text;
}

void verify_resume_with(const JobConfig& config) {
  std::vector<std::string> keys{"program", "rows"};
  for (const JobOption& option : job_options()) {
    if (option.effect == Effect::program) keys.push_back(option.key());
  }
  for (const std::string& key : config.files.resume_with) position_of_name("--resume-with", key, keys);
}

}  // namespace partita
