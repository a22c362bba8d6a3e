#include "training/configuration.h"

#include <algorithm>

#include "base/plain_text.h"
#include "compiler/partition/collectives.h"
#include "compiler/partition/print_rank.h"
#include "frontend/data/loading/batch.h"
#include "job/loss_scaling.h"
#include "job/toml.h"
#include "runtime/launch/fingerprint.h"
#include "training/memory.h"

namespace partita {
namespace {

constexpr const char *kProgram = "partita.program", *kScheduleSteps = "partita.schedule_steps";
constexpr int64_t kMaxDigestedRows = 16;  // rows of a validation
constexpr const char* kScheduleKey = "schedule.steps";

/// Returns what a training graph computes, as text. Left out is what changes when code moves (source locations), when
/// there are other stages, or when less is kept (recomputed nodes of the backward pass, outputs with rows). The
/// backward pass is left out, since it follows from the forward pass.
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
  return std::ranges::find(allowed, key) != allowed.end();
}

/// Returns the number of steps of a saved training's schedule. Older files do not store it: it is then the
/// `schedule.steps` of their configuration `then` or, if that is 0, the number of steps of the training. Throws
/// InvalidFile, naming `path`, if the stored text is no number of steps.
int64_t saved_schedule_steps(const JobConfig& then, const TrainingPosition& saved, const std::string& path) {
  if (const auto said = saved.metadata.find(kScheduleSteps); said != saved.metadata.end()) {
    const std::string& text = said->second;
    if (const std::optional<int64_t> steps = parse_number<int64_t>(text); steps && *steps >= 0) return *steps;
    throw InvalidFile("[resume] {}: bad {}, got '{}', expected a number of steps", path, kScheduleSteps, text);
  }
  if (then.schedule.steps > 0) return then.schedule.steps;
  const int64_t steps_per_epoch = saved.batch > 0 ? saved.rows / saved.batch : 0;
  return training_steps(then.training.epochs, then.training.steps, steps_per_epoch);
}

/// Returns "100 5ca1ab1e", the number of rows and a digest of the first ones, or "100 of functions" for rows that
/// functions make, which may differ each time they are read.
std::string describe_validation(const DatasetPtr& rows) {
  const std::string first =
      rows->has_functions() ? "of functions" : print_digest(digest_of_rows(rows, kMaxDigestedRows));
  return fmt::format("{} {}", rows->size(), first);
}

std::string shown(const std::string& text) { return text.empty() ? "nothing" : text; }

/// Returns a model's text with its sizes in the order of their names.
std::string in_one_order(const std::string& model) {
  const size_t colon = std::min(model.find(':'), model.size());
  std::vector<std::string_view> sizes = split_words(std::string_view(model).substr(colon), ":,");
  std::ranges::sort(sizes);
  return fmt::format("{}:{}", model.substr(0, colon), fmt::join(sizes, ","));
}

}  // namespace

JobConfig saved_configuration(const std::string& text, const std::string& path) {
  JobConfig saved;
  try {
    assign(saved, parse_config(text, path));
  } catch (const InvalidArgument& error) {
    throw InvalidFile("[resume] {}: bad configuration in the checkpoint: {}", path, error.what());
  }
  return saved;
}

bool describes_training(const Metadata& saved) {
  return saved.contains(kConfigKey) && saved.contains(kProgram) && saved.contains(kRowsKey);
}

bool accepts_other_program(const JobConfig& config, const Metadata& now, const Metadata& saved) {
  const auto own = now.find(kProgram), other = saved.find(kProgram);
  return own != now.end() && other != saved.end() && own->second != other->second && is_allowed(config, "program");
}

Metadata describe_weights(const JobConfig& config) { return {{kConfigKey, print_computation(config)}}; }

uint64_t digest_of_rows(const DatasetPtr& rows, int64_t batch) {
  uint64_t digest = 0;
  for (const Array& column : Batcher(rows, {.batch = std::min(batch, rows->size())}).batch(0, 0).arrays) {
    digest = digest_of(column, digest);
  }
  return digest;
}

Metadata describe_training(const JobConfig& config, const Graph& graph, const DatasetPtr& rows, int64_t schedule_steps,
                           const DatasetPtr& validation) {
  Metadata described{{kConfigKey, print_computation(config)},
                     {kProgram, print_digest(digest_of(print_computed(graph)))},
                     {kRowsKey, print_digest(digest_of_rows(rows, config.training.batch))},
                     {kScheduleSteps, fmt::format("{}", schedule_steps)}};
  if (validation != nullptr) {
    described.emplace(kValidationKey, describe_validation(validation));
  }
  return described;
}

void require_same_training(const JobConfig& config, const Metadata& now, const TrainingPosition& position,
                           const std::string& path) {
  const Metadata& saved = position.metadata;
  if (!describes_training(saved)) return;
  std::string found, hint;
  const auto add = [&](const std::string& key, const std::string& difference) {
    if (is_allowed(config, key)) return;
    found += fmt::format("{}{}{}", found.empty() ? "" : ", ", key, difference);
  };
  bool changed = false;
  const JobConfig then = saved_configuration(saved.at(kConfigKey), path);
  for (const auto& [option, got, expected] : differences(config, then)) {
    if (option->effect != Effect::program || option->key() == kScheduleKey) continue;
    if (option->key() == "model" && in_one_order(config.model) == in_one_order(then.model)) continue;
    changed = true;
    add(option->key(), fmt::format(" = {} instead of {}", shown(got), shown(expected)));
  }
  // A learning rate set by a callback does not depend on the schedule.
  if (depends_on_length(config.schedule) && depends_on_length(then.schedule) && !position.learning_rate) {
    const std::string& got = now.at(kScheduleSteps);
    const std::string expected = fmt::format("{}", saved_schedule_steps(then, position, path));
    const bool is_said = config.schedule.steps > 0 && then.schedule.steps == 0;
    if (got != expected && !is_said && !is_allowed(config, kScheduleKey)) {
      add(kScheduleKey, fmt::format(" = {} instead of {}", got, expected));
      hint = "; --schedule-steps N says how long the learning rate falls";
    }
  }
  if (now.at(kRowsKey) != saved.at(kRowsKey)) {
    changed = true;
    add("rows", " that are others");
  }
  // Differences that the configuration does not show: a network in code, other groups of statistics.
  // Parameters are the same with every precision.
  const bool same_precision = config.training.precision == then.training.precision &&
                              config.training.precision_of == then.training.precision_of &&
                              config.training.residual == then.training.residual &&
                              config.training.reduce_dtype == then.training.reduce_dtype &&
                              loss_scaling_of(config.training) == loss_scaling_of(then.training) &&
                              skips_bad_steps(config.training) == skips_bad_steps(then.training);
  if (!changed && same_precision && now.at(kProgram) != saved.at(kProgram)) {
    add("program", " that computes something else");
  }
  if (found.empty()) return;
  throw InvalidFile(
      "[resume] {}: a checkpoint of another training, got {}, expected the same; --resume-with KEY accepts a "
      "difference{}",
      path, found, hint);
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
                        std::ranges::count_if(nodes, is_collective));
  }
  text += fmt::format("memory: {} of each rank, states of {} in all\n", print_bytes(largest_arena(program)),
                      print_bytes(states));
  text += "passes:";
  for (const PassTime& pass : program.times) text += fmt::format(" {} {:.3f} s", pass.name, pass.seconds);
  return text + "\n";
}

std::string describe_evaluation(const Program& training, const Evaluation& evaluation) {
  int64_t bytes = largest_arena(training);
  for (const Program* program : evaluation.programs()) {
    bytes = std::max(bytes, largest_arena_between_steps(training, *program));
  }
  return fmt::format("memory with an evaluation: {} of each rank, in batches of {} rows\n", print_bytes(bytes),
                     evaluation.batch());
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
