// partita summary: the layers of a model with their shapes and parameters.

#include <iostream>
#include <map>
#include <memory>

#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "runtime/launch/place.h"
#include "training/memory.h"

namespace partita {
namespace {

/// A layer: the nodes and parameters of one scope.
struct LayerRow {
  std::string name;
  std::vector<std::string> ops;
  std::optional<Type> output;  // none: only parameters, which another layer reads
  int64_t parameters = 0;
};

/// Returns "h.0.attn" for "net/h/0/attn", as in the names of parameters, "net" for the network itself and for no scope,
/// and any other scope as it is.
std::string layer_name(std::string scope) {
  constexpr std::string_view kNet = "net/";
  if (!scope.starts_with(kNet)) return scope.empty() ? "net" : scope;
  scope.erase(0, kNet.size());
  for (char& letter : scope) letter = letter == '/' ? '.' : letter;
  return scope;
}

/// Returns "conv1" for "conv1.weight", the part before the last dot, and "net" for parameters of the network itself,
/// which have no dot.
std::string owner_of(const std::string& parameter) {
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "net" : parameter.substr(0, dot);
}

/// Returns the layers in the order of their first node, then those that have only parameters.
std::vector<LayerRow> layer_rows(const Graph& graph) {
  std::vector<LayerRow> rows;
  std::map<std::string, size_t> places;
  const auto row = [&](const std::string& name) -> LayerRow& {
    const auto [found, added] = places.emplace(name, rows.size());
    if (added) rows.push_back({.name = name});
    return rows[found->second];
  };
  for (const Node& node : graph.nodes) {
    LayerRow& layer = row(layer_name(node.scope));
    layer.ops.push_back(node.op);
    layer.output = graph.type(node.outputs[0]);
  }
  for (const State& state : graph.states) {
    if (state.kind == StateKind::parameter) {
      row(owner_of(graph.name_of(state))).parameters += graph.type(state.entry).elements();
    }
  }
  return rows;
}

/// Returns "conv2d, bias_add". Of more than three ops it shows three and the number of the others: "a, b, c, 2 more".
std::string print_ops(const std::vector<std::string>& ops) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(ops.size(), kShown); ++i) text += (i > 0 ? ", " : "") + ops[i];
  return ops.size() > kShown ? fmt::format("{}, {} more", text, ops.size() - kShown) : text;
}

void print_totals(const Graph& graph) {
  int64_t parameters = 0, frozen = 0, bytes = 0, other = 0;
  for (const State& state : graph.states) {
    const Type& type = graph.type(state.entry);
    if (state.kind == StateKind::parameter) {
      parameters += type.elements();
      bytes += type.bytes();
      if (!state.requires_grad) frozen += type.elements();
    } else {
      other += type.bytes();
    }
  }
  std::cout << fmt::format("parameters {} ({}), trained {}\n", parameters, print_bytes(bytes), parameters - frozen);
  std::cout << fmt::format("states of the optimizer and statistics {}\n", print_bytes(other));
}

void run_summary(const JobFlags& flags) {
  const ZooJob job(configuration(flags), this_place().alone());
  if (printed_config(flags, job.config())) return;
  const Graph forward = job.program(Purpose::prediction, Stage::graph).graph;
  std::cout << fmt::format("{:<28} {:<34} {:<24} {:>12}\n", "layer", "ops", "output", "parameters");
  for (const LayerRow& row : layer_rows(forward)) {
    std::cout << fmt::format("{:<28} {:<34} {:<24} {:>12}\n", row.name, print_ops(row.ops),
                             row.output ? print(*row.output) : "-", row.parameters);
  }
  const Program training = job.program(Purpose::training);
  print_totals(training.graph);
  std::cout << fmt::format("a training step of batch {} takes {} on each of {} ranks\n", job.config().training.batch,
                           print_bytes(largest_arena(training)), job.config().ranks.count);
}

}  // namespace

void add_summary(CLI::App& app) {
  const auto flags = std::make_shared<JobFlags>();
  CLI::App* command =
      add_command(app, "summary", "List the layers of a model: ops, shapes, parameters, memory", flags, run_summary);
  add_job_flags(*command, *flags, decides_program);
  command->footer("Example: partita summary resnet18 --batch 64");
}

}  // namespace partita
