// partita graph: prints the graph of a model or of a file, and runs it on random inputs.

#include <iostream>
#include <memory>

#include "base/philox.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "planner/graph_file.h"
#include "runtime/checkpoint/states.h"
#include "runtime/device/device.h"
#include "runtime/execute/interpreter.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

constexpr int64_t kShownElements = 8;

struct GraphFlags {
  JobFlags job;
  bool training = false, run = false;
};

std::string print_values(const Array& array) {
  std::string text;
  const int64_t shown = std::min(array.type().elements(), kShownElements);
  for (int64_t i = 0; i < shown; ++i) text += fmt::format("{}{:.6g}", i > 0 ? " " : "", array.at(i));
  return array.type().elements() > shown ? text + " ..." : text;
}

void run_graph(const Graph& graph, uint64_t seed) {
  make_cpu_device(all_ops(), /*threads=*/1)->enter_thread();
  States given;
  add_initial_states(given, graph, seed);
  for (const Input& input : graph.inputs) {
    const ValueInfo& value = graph.values[static_cast<size_t>(input.value)];
    given.emplace(value.name, random_operand(value.type, random_key(seed, value.name)));
  }
  const std::vector<Array> outputs = interpret(graph, all_ops(), given);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::cout << fmt::format("{} {} = {}\n", graph.outputs[i].name, print(outputs[i].type()), print_values(outputs[i]));
  }
}

/// Returns the stage up to which the program is compiled: the graph or, for several ranks, their local graphs.
Stage last_stage(const JobConfig& config) { return config.ranks.count > 1 ? Stage::partition : Stage::training; }

/// Compiles the graph of a file, under the parts of the configuration that do not depend on a network. Throws
/// MissingFile if the file cannot be read, InvalidFile if it has more than 16 MiB, InvalidArgument if it is not a
/// graph, the options do not fit it or OMP_THREAD_LIMIT is below the threads, and ThreadFailures.
Program compile_file(const std::string& path, const JobConfig& config, bool training) {
  // A forward graph on one rank is printed with its dead nodes.
  const Stage last = training || config.ranks.count > 1 ? last_stage(config) : Stage::graph;
  return make_program(
      config,
      {.forward = [&] { return read_graph(path); }, .ranks = config.ranks.count, .training = training, .last = last});
}

void run_command(const GraphFlags& flags) {
  const Place place = this_place().alone();
  const bool is_file = is_graph_file(flags.job.model);
  JobConfig config;
  if (is_file) {
    assign(config, assignments_without_model(flags.job));
    config = completed(config, place);
  } else {
    config = ZooJob(configuration(flags.job), place).config();
  }
  if (printed_config(flags.job, config)) return;
  if (flags.run && config.ranks.count > 1) {
    throw InvalidArgument("[--run] a graph runs on one rank, got --run with --ranks {}, expected --ranks 1",
                          config.ranks.count);
  }
  const Purpose purpose = flags.training ? Purpose::training : Purpose::evaluation;
  const Program program = is_file ? compile_file(flags.job.model, config, flags.training)
                                  : ZooJob(config, place).program(purpose, last_stage(config));
  for (const std::string& warning : program.warnings) warn(warning);
  if (flags.run) return run_graph(program.graph, config.training.seed);
  const auto print_local = [](const StageProgram& stage) { return print(stage.local, all_ops()); };
  std::cout << (config.ranks.count > 1 ? print_stages(program.pipeline, program.stages, print_local)
                                       : print(program.graph));
}

}  // namespace

void add_graph(CLI::App& app) {
  const auto flags = std::make_shared<GraphFlags>();
  CLI::App* command = add_command(app, "graph", "Print the graph of a model, or verify, print and run one from a file",
                                  flags, run_command);
  add_job_flags(*command, flags->job, decides_program);
  command->get_option("MODEL")->description("A model, or a file.txt with the text of a graph");
  command->add_flag("--training", flags->training, "With gradients and updates");
  command->add_flag("--run", flags->run, "Run it on random inputs and print the outputs");
  command->footer("Example: partita graph my_graph.txt --training --run");
}

}  // namespace partita
