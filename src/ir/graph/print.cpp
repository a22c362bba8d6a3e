#include "ir/graph/print.h"

#include <algorithm>

namespace partita {
namespace {

/// Returns the path as it is, or in quotes if it contains spaces, double quotes or control characters, with \", \\ and
/// \n as escapes.
std::string print_path(const std::string& path) {
  const bool plain = std::ranges::all_of(path, [](unsigned char c) { return c > ' ' && c != '"' && c != 127; });
  if (plain) return path;
  std::string text = "\"";
  for (char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text + '"';
}

std::string print_state(const Graph& graph, const State& state, const GraphTexts& texts) {
  std::string line =
      fmt::format("state %{}: {} {}", graph.values[state.entry].name, texts.type(state.entry), name_of(state.kind));
  line += fmt::format(" {}", name_of(state.init.kind));
  if (!state.init.args.empty()) line += fmt::format("({})", fmt::join(state.init.args, ","));
  if (!state.owner.empty()) line += " of=" + state.owner;
  if (!state.requires_grad) line += " frozen";
  if (state.layerwise >= 0) line += fmt::format(" layerwise={}", state.layerwise);
  return line + "\n";
}

std::string print_node(const Graph& graph, NodeId id, const GraphTexts& texts) {
  const Node& node = graph.nodes[id];
  std::string line;
  for (ValueId output : node.outputs) line += fmt::format("{}%{}", line.empty() ? "" : ", ", graph.values[output].name);
  line += fmt::format(" = {}(", node.op);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    line += fmt::format("{}%{}", i == 0 ? "" : ", ", graph.values[node.inputs[i]].name);
  }
  line += ")";
  const std::string attrs = node.attrs.print();
  if (!attrs.empty()) line += " " + attrs;
  line += " :";
  for (size_t i = 0; i < node.outputs.size(); ++i) line += (i == 0 ? " " : ", ") + texts.type(node.outputs[i]);
  line += fmt::format(" ; {}", name_of(node.phase));
  if (!node.scope.empty()) line += " scope=" + node.scope;
  if (!node.source.file.empty()) line += fmt::format(" at={}:{}", print_path(node.source.file), node.source.line);
  if (!node.origin.empty()) line += " of=" + node.origin;
  if (!node.recompute.empty()) line += " recompute=" + node.recompute;
  if (node.stage >= 0) line += fmt::format(" stage={}", node.stage);
  if (node.annotation) line += " shard=" + print(*node.annotation);
  if (texts.note) {
    const std::string note = texts.note(id);
    if (!note.empty()) line += " " + note;
  }
  return line + "\n";
}

}  // namespace

std::string print(const Graph& graph, const GraphTexts& texts) {
  std::string text = fmt::format("partita graph 1\ngraph {}\n", graph.name);
  if (!texts.mesh.empty()) text += texts.mesh + "\n";
  if (!texts.sections.empty()) text += "sections " + texts.sections + "\n";
  for (const Input& input : graph.inputs) {
    text += fmt::format("input %{}: {}", graph.values[input.value].name, texts.type(input.value));
    if (input.batch_dim >= 0) text += fmt::format(" batch={}", input.batch_dim);
    if (input.from_stage >= 0)
      text += fmt::format(" from={}{}{}", input.from_stage, input.once ? " once" : "", input.verdict ? " verdict" : "");
    text += "\n";
  }
  for (const State& state : graph.states) text += print_state(graph, state, texts);
  for (size_t n = 0; n < graph.nodes.size(); ++n) text += print_node(graph, static_cast<NodeId>(n), texts);
  for (const State& state : graph.states) {
    if (state.exit < 0) continue;
    text += fmt::format("store %{} = %{}\n", graph.values[state.entry].name, graph.values[state.exit].name);
  }
  for (const Output& output : graph.outputs) {
    text += fmt::format("output {} = %{}", output.name, graph.values[output.value].name);
    if (!output.to_stages.empty()) {
      text += fmt::format(" to={}{}{}", fmt::join(output.to_stages, ","), output.once ? " once" : "",
                          output.verdict ? " verdict" : "");
    }
    text += "\n";
  }
  return text;
}

std::string print(const Graph& graph) {
  return print(graph, GraphTexts{.mesh = "", .type = [&](ValueId value) { return print(graph.type(value)); }});
}

}  // namespace partita
