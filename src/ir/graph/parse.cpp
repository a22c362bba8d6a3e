// Parses the text form of a graph. Lines may come in any order after the header. Nodes are sorted so that each value is
// made before it is used; a cycle is an error that names its nodes.

#include <algorithm>
#include <unordered_map>

#include "ir/graph/node_line.h"
#include "ir/graph/print.h"

namespace partita {
namespace {

class Parser : private Scanner {
 public:
  Parser(std::string_view text, const OpSet& ops) : Scanner("graph", text, "not a graph"), ops_(ops) {}

  AnnotatedGraph parse() {
    while (next()) {
      if (rest().front() == '%') {
        lines_.push_back(read_node(*this, ops_));
        continue;
      }
      const std::string keyword = word();
      if (keyword == "graph")
        graph_line();
      else if (keyword == "mesh")
        mesh_line();
      else if (keyword == "sections")
        sections_line();
      else if (keyword == "input")
        input_line();
      else if (keyword == "state")
        state_line();
      else if (keyword == "store" || keyword == "output")
        ends_.push_back({line(), keyword, std::string(rest())});
      else
        fail("unknown line", keyword, "graph, mesh, sections, input, state, store, output or %value = op(...)");
    }
    add_nodes();
    add_ends();
    verify(graph_, ops_);
    return std::move(annotated_);
  }

 private:
  struct EndLine {
    int line;
    std::string keyword, rest;
  };

  ValueId add_value(const std::string& name, const TypeText& type, NodeId producer, int output) {
    const ValueId id = static_cast<ValueId>(graph_.values.size());
    if (!ids_.emplace(name, id).second) fail("value defined twice", "%" + name, "one definition");
    graph_.values.push_back({type.type, name, producer, output});
    annotated_.types.push_back(type.text);
    annotated_.value_lines.push_back(line());
    return id;
  }

  void graph_line() {
    once(has_name_, "graph");
    graph_.name = take_rest();  // a network's name, which may be any text
  }

  void mesh_line() {
    once(has_mesh_, "mesh");
    annotated_.mesh = "mesh " + std::string(rest());
    annotated_.mesh_line = line();
  }

  void sections_line() {
    once(has_sections_, "sections");
    annotated_.sections = word();
    annotated_.sections_line = line();
    end();
  }

  void input_line() {
    const std::string name = read_value_name(*this);
    expect(":");
    Input input{add_value(name, read_type(*this), -1, 0), -1};
    while (!rest().empty()) input_property(input);
    graph_.inputs.push_back(input);
  }

  void input_property(Input& input) {
    const std::string property = word();
    if (property == "batch" && take("=")) {
      input.batch_dim = integer();
      if (input.batch_dim >= 0 && input.batch_dim < graph_.type(input.value).rank()) return;
      fail("batch dimension outside the tensor", fmt::format("{}", input.batch_dim), print(graph_.type(input.value)));
    }
    if (property == "from" && take("=")) {
      input.from_stage = read_stage(*this);
      input.once = take("once");
      input.verdict = !input.once && take("verdict");
      return;
    }
    fail("unknown property of an input", property, "batch=DIMENSION or from=STAGE");
  }

  void state_line() {
    const std::string name = read_value_name(*this);
    expect(":");
    const ValueId entry = add_value(name, read_type(*this), -1, 0);
    graph_.states.push_back(read_state(*this, graph_.type(entry)));
    graph_.states.back().entry = entry;
  }

  // Adds nodes in text order where possible; a node that uses a later one comes after it.
  void add_nodes() {
    std::unordered_map<std::string, size_t> makers;
    for (size_t i = 0; i < lines_.size(); ++i) {
      for (const std::string& output : lines_[i].outputs) makers.emplace(output, i);
    }
    enum Visit : char { unvisited, open, done };
    std::vector<Visit> visits(lines_.size(), unvisited);
    struct Frame {
      size_t index;
      size_t input;
    };
    for (size_t root = 0; root < lines_.size(); ++root) {
      if (visits[root] != unvisited) continue;
      std::vector<Frame> path{{root, 0}};
      visits[root] = open;
      while (!path.empty()) {
        Frame& frame = path.back();
        NodeLine& entry = lines_[frame.index];
        go_to(entry.line, "");
        if (frame.input == entry.inputs.size()) {
          add_node(entry);
          visits[frame.index] = done;
          path.pop_back();
          continue;
        }
        const std::string& input = entry.inputs[frame.input++];
        if (ids_.contains(input)) continue;
        const auto maker = makers.find(input);
        if (maker == makers.end()) fail("value is used but never computed", "%" + input, "a value of this graph");
        if (visits[maker->second] == open) {
          std::string cycle;
          for (const Frame& step : path) cycle += "%" + lines_[step.index].outputs.front() + " <- ";
          fail("the graph has a cycle", cycle + "%" + input, "an acyclic graph");
        }
        visits[maker->second] = open;
        path.push_back({maker->second, 0});
      }
    }
  }

  void add_node(NodeLine& entry) {
    const NodeId id = static_cast<NodeId>(graph_.nodes.size());
    std::vector<Type> input_types;
    for (const std::string& input : entry.inputs) {
      entry.node.inputs.push_back(ids_.at(input));
      input_types.push_back(graph_.type(ids_.at(input)));
    }
    std::vector<Type> inferred;
    try {
      inferred = ops_.at(entry.node.op).infer({entry.node.attrs, input_types, {}});
    } catch (const Error& error) {
      throw InvalidArgument(error.kind(), "[graph line {}] {}", line(), error.what());
    }
    if (inferred.size() != entry.outputs.size()) {
      fail(entry.node.op + " has the wrong number of results", fmt::format("{}", entry.outputs.size()),
           fmt::format("{}", inferred.size()));
    }
    for (size_t k = 0; k < inferred.size(); ++k) {
      if (!entry.types.empty() && entry.types[k].type != inferred[k]) {
        throw InvalidArgument(ErrorKind::type, "[graph line {}] wrong type of %{} = {}, got {}, expected {}", line(),
                              entry.outputs[k], entry.node.op, print(entry.types[k].type), print(inferred[k]));
      }
      const std::string text = entry.types.empty() ? print(inferred[k]) : entry.types[k].text;
      entry.node.outputs.push_back(add_value(entry.outputs[k], {inferred[k], text}, id, static_cast<int>(k)));
    }
    graph_.nodes.push_back(entry.node);
    annotated_.cuts.push_back(entry.cut);
    annotated_.node_lines.push_back(line());
  }

  void add_ends() {
    const auto value = [&](const std::string& name) {
      const auto found = ids_.find(name);
      if (found == ids_.end()) fail("value is used but never computed", "%" + name, "a value of this graph");
      return found->second;
    };
    std::unordered_map<ValueId, size_t> states;
    for (size_t s = 0; s < graph_.states.size(); ++s) states.emplace(graph_.states[s].entry, s);
    for (const EndLine& end : ends_) {
      go_to(end.line, end.rest);
      if (end.keyword == "output") {
        const std::string name = word();
        expect("=");
        graph_.outputs.push_back({name, value(read_value_name(*this))});
        output_properties(graph_.outputs.back());
        continue;
      }
      const ValueId entry = value(read_value_name(*this));
      expect("=");
      const ValueId exit = value(read_value_name(*this));
      this->end();
      const auto found = states.find(entry);
      if (found == states.end()) fail("store to a value that is no state", end.rest, "a state");
      State& state = graph_.states[found->second];
      if (state.exit >= 0) fail("state is written twice", end.rest, "one store");
      state.exit = exit;
    }
  }

  void output_properties(Output& output) {
    if (rest().empty()) return;
    if (word() != "to" || !take("=")) fail("unknown property of an output", rest(), "to=STAGES");
    do output.to_stages.push_back(read_stage(*this));
    while (take(","));
    output.once = take("once");
    output.verdict = !output.once && take("verdict");
    if (!rest().empty()) fail("unknown property of an output", rest(), "once or verdict");
  }

  const OpSet& ops_;
  AnnotatedGraph annotated_;
  Graph& graph_ = annotated_.graph;
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<NodeLine> lines_;
  std::vector<EndLine> ends_;
  bool has_name_ = false, has_mesh_ = false, has_sections_ = false;
};

}  // namespace

AnnotatedGraph parse_annotated(std::string_view text, const OpSet& ops) { return Parser(text, ops).parse(); }

Graph parse_graph(std::string_view text, const OpSet& ops) {
  AnnotatedGraph annotated = parse_annotated(text, ops);
  const auto refuse = [](const std::string& what, const std::string& got) {
    throw InvalidArgument("[graph] {}, got '{}', expected a graph that is not split", what, got);
  };
  if (!annotated.mesh.empty()) refuse("the graph has a mesh", annotated.mesh);
  if (!annotated.sections.empty()) refuse("the graph has sections", annotated.sections);
  for (size_t v = 0; v < annotated.types.size(); ++v) {
    const bool split = annotated.types[v].find_first_of("{+") != std::string::npos;
    if (split) refuse("%" + annotated.graph.values[v].name + " is split", annotated.types[v]);
  }
  for (size_t n = 0; n < annotated.cuts.size(); ++n) {
    if (!annotated.cuts[n].empty()) refuse(annotated.graph.nodes[n].name + " is cut", annotated.cuts[n]);
  }
  return std::move(annotated.graph);
}

}  // namespace partita
