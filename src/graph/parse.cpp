// Reads the text form of a graph. Lines may stand in any order after the header: nodes are sorted so
// that every value is made before it is used, and a cycle is an error that names its nodes.

#include <algorithm>
#include <unordered_map>

#include "base/scanner.h"
#include "graph/op_def.h"
#include "graph/print.h"

namespace partita {
namespace {

struct TypeText {
  Type type;
  std::string text;  // as written, with what a sharding adds
};

struct NodeLine {
  int line = 0;
  Node node;
  std::vector<std::string> inputs, outputs;
  std::vector<TypeText> types;
  std::string cut;
};

class Parser : private Scanner {
 public:
  Parser(std::string_view text, const OpSet& ops) : Scanner("graph", text, "not a graph"), ops_(ops) {}

  AnnotatedGraph parse() {
    while (next()) {
      if (rest().front() == '%') {
        node_line();
        continue;
      }
      const std::string keyword = word();
      if (keyword == "graph")
        graph_.name = word();
      else if (keyword == "mesh")
        annotated_.mesh = "mesh " + std::string(rest());
      else if (keyword == "input")
        input_line();
      else if (keyword == "state")
        state_line();
      else if (keyword == "store" || keyword == "output")
        ends_.push_back({line(), keyword, std::string(rest())});
      else
        fail("unknown line", keyword, "graph, mesh, input, state, store, output or %value = op(...)");
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

  std::string value_name() {
    expect("%");
    return word();
  }

  /// "f32[2,3]", in a local graph "f32[2{data},3] +sum{model}".
  TypeText type() {
    const size_t end = rest().find(']');
    if (end == std::string_view::npos) fail("no type", rest().substr(0, 20), "a type like f32[2,3]");
    TypeText result{.text = std::string(rest().substr(0, end + 1))};
    take(end + 1);
    std::string plain;
    int depth = 0;
    for (char c : result.text) {
      depth += c == '{';
      if (depth == 0) plain += c;
      depth -= c == '}';
    }
    if (!rest().empty() && rest().front() == '+') {
      const size_t close = rest().find('}');
      if (close == std::string_view::npos) fail("no '}'", rest().substr(0, 20), "+sum{axes}");
      result.text += " " + std::string(rest().substr(0, close + 1));
      take(close + 1);
    }
    result.type = with_line([&] { return parse_type(plain); });
    return result;
  }

  ValueId add_value(const std::string& name, const TypeText& type, NodeId producer, int output) {
    const ValueId id = static_cast<ValueId>(graph_.values.size());
    if (!ids_.emplace(name, id).second) fail("value defined twice", "%" + name, "one definition");
    graph_.values.push_back({type.type, name, producer, output});
    annotated_.types.push_back(type.text);
    return id;
  }

  void input_line() {
    const std::string name = value_name();
    expect(":");
    Input input{add_value(name, type(), -1, 0), -1};
    if (!rest().empty()) {
      if (word() != "batch" || !take("=")) fail("unknown mark", rest(), "batch=DIMENSION");
      input.batch_dim = integer();
      if (input.batch_dim < 0 || input.batch_dim >= graph_.type(input.value).rank()) {
        fail("batch dimension outside the tensor", fmt::format("{}", input.batch_dim), print(graph_.type(input.value)));
      }
    }
    graph_.inputs.push_back(input);
  }

  void state_line() {
    const std::string name = value_name();
    expect(":");
    State state;
    state.entry = add_value(name, type(), -1, 0);
    const std::string kind = word();
    bool known = false;
    for (StateKind candidate : {StateKind::parameter, StateKind::statistic, StateKind::slot, StateKind::counter}) {
      if (name_of(candidate) != kind) continue;
      state.kind = candidate;
      known = true;
    }
    if (!known) fail("unknown kind of state", kind, "parameter, statistic, slot or counter");
    if (!rest().empty()) state.init.kind = with_line([&] { return parse_name<InitKind>("initializer", word()); });
    if (take("(")) {
      const size_t end = rest().find(')');
      if (end == std::string_view::npos) fail("no ')'", rest(), "arguments in parentheses");
      from_text("[" + std::string(rest().substr(0, end)) + "]", state.init.args);
      take(end + 1);
    }
    while (!rest().empty()) {
      const std::string mark = word();
      if (mark == "frozen")
        state.requires_grad = false;
      else if (mark == "of" && take("="))
        state.owner = word();
      else if (mark == "layerwise" && take("="))
        state.layerwise = layerwise_dim(state.entry);
      else
        fail("unknown mark", mark, "frozen, of=PARAMETER or layerwise=DIMENSION");
    }
    graph_.states.push_back(state);
  }

  int layerwise_dim(ValueId entry) {
    const int dim = integer(), rank = graph_.type(entry).rank();
    if (dim < 0 || dim >= rank) {
      fail("dimension outside the tensor", fmt::format("{}", dim), print(graph_.type(entry)));
    }
    return dim;
  }

  void node_line() {
    NodeLine entry{.line = line()};
    do entry.outputs.push_back(value_name());
    while (take(","));
    expect("=");
    entry.node.op = word();
    const OpDef* op = nullptr;
    op = with_line([&] { return &ops_.at(entry.node.op); });
    expect("(");
    if (!take(")")) {
      do entry.inputs.push_back(value_name());
      while (take(","));
      expect(")");
    }
    entry.node.attrs = op->attrs;
    if (!rest().empty() && rest().front() == '{') attributes(entry, *op);
    if (take(":")) {
      do entry.types.push_back(type());
      while (take(","));
      if (entry.types.size() != entry.outputs.size()) {
        fail("types and values differ in number", fmt::format("{} types", entry.types.size()),
             fmt::format("{}", entry.outputs.size()));
      }
    }
    if (take(";")) marks(entry);
    if (!rest().empty()) fail("unexpected text", rest().substr(0, 20), "the end of the line");
    const std::string& first = entry.outputs.front();
    entry.node.name = entry.outputs.size() == 1 ? first : first.substr(0, first.rfind('.'));
    lines_.push_back(std::move(entry));
  }

  void attributes(NodeLine& entry, const OpDef& op) {
    size_t end = 0;
    bool quoted = false;
    while (end < rest().size() && (quoted || rest()[end] != '}')) {
      if (rest()[end] == '"') quoted = !quoted;
      ++end;
    }
    if (end == rest().size()) fail("no '}'", rest().substr(0, 20), "attributes in braces");
    try {
      entry.node.attrs = op.attrs.parse(rest().substr(0, end + 1));
    } catch (const Error& error) {
      throw InvalidArgument(
          fmt::format("[graph line {}] {}: {}, in {}", line(), op.name, error.what(), rest().substr(0, end + 1)),
          error.kind());
    }
    take(end + 1);
  }

  /// FILE:LINE, or "FILE":LINE with \" \\ and \n in the path.
  SourceLocation source_line() {
    SourceLocation source;
    if (rest().starts_with('"')) {
      source.file = quoted_path();
    } else {
      const std::string_view place = rest().substr(0, rest().find(' '));
      source.file = take(std::min(place.rfind(':'), place.size()));
    }
    if (!rest().starts_with(':')) fail("no line", rest().substr(0, 20), "at=FILE:LINE");
    take(size_t{1});
    source.line = integer();
    return source;
  }

  std::string quoted_path() {
    std::string path;
    for (size_t i = 1; i < rest().size(); ++i) {
      if (rest()[i] == '"') {
        take(i + 1);
        return path;
      }
      if (rest()[i] == '\\' && ++i < rest().size()) {
        if (rest()[i] != '"' && rest()[i] != '\\' && rest()[i] != 'n') {
          fail("unknown escape", rest().substr(i - 1, 2), "\\\", \\\\ or \\n");
        }
        path += rest()[i] == 'n' ? '\n' : rest()[i];
      } else if (i < rest().size()) {
        path += rest()[i];
      }
    }
    fail("no end of a quoted path", rest().substr(0, 20), "at=\"FILE\":LINE");
  }

  ShardingAnnotation shard_mark() {
    const std::string_view text = rest().substr(0, rest().find(' '));
    take(text.size());
    try {
      return parse_annotation(text);
    } catch (const Error& error) {
      throw InvalidArgument(fmt::format("[graph line {}] {}", line(), error.what()), error.kind());
    }
  }

  /// What follows ';'. Over which axes a collective works, its group and its bytes follow from its attributes.
  void marks(NodeLine& entry) {
    constexpr std::string_view kExpected = "a phase, scope=, at=, of=, shard= or cut";
    Node& node = entry.node;
    while (!rest().empty()) {
      const std::string mark = word();
      bool phase = false;
      for (Phase candidate : {Phase::forward, Phase::backward, Phase::update}) {
        if (name_of(candidate) != mark) continue;
        node.phase = candidate;
        phase = true;
      }
      if (phase) continue;
      if (mark == "cut") {
        entry.cut = take_rest();
        return;
      }
      if (!take("=")) fail("unknown mark", mark, kExpected);
      if (mark == "scope")
        node.scope = word();
      else if (mark == "of")
        node.origin = word();
      else if (mark == "at") {
        node.source = source_line();
      } else if (mark == "shard") {
        node.annotation = shard_mark();
      } else if (mark == "over" || mark == "group" || mark == "bytes") {
        take(std::min(rest().size(), rest().find(' ')));
      } else {
        fail("unknown mark", mark, kExpected);
      }
    }
  }

  // Nodes in text order where that is possible, later ones first where it is not.
  void add_nodes() {
    std::unordered_map<std::string, size_t> makers;
    for (size_t i = 0; i < lines_.size(); ++i) {
      for (const std::string& output : lines_[i].outputs) makers.emplace(output, i);
    }
    enum Mark : char { untouched, open, done };
    std::vector<Mark> marks(lines_.size(), untouched);
    struct Frame {
      size_t index;
      size_t input;
    };
    for (size_t root = 0; root < lines_.size(); ++root) {
      if (marks[root] != untouched) continue;
      std::vector<Frame> path{{root, 0}};
      marks[root] = open;
      while (!path.empty()) {
        Frame& frame = path.back();
        NodeLine& entry = lines_[frame.index];
        go_to(entry.line, "");
        if (frame.input == entry.inputs.size()) {
          add_node(entry);
          marks[frame.index] = done;
          path.pop_back();
          continue;
        }
        const std::string& input = entry.inputs[frame.input++];
        if (ids_.contains(input)) continue;
        const auto maker = makers.find(input);
        if (maker == makers.end()) fail("value is used but never made", "%" + input, "a value of this graph");
        if (marks[maker->second] == open) {
          std::string cycle;
          for (const Frame& step : path) cycle += "%" + lines_[step.index].outputs.front() + " <- ";
          fail("the graph has a cycle", cycle + "%" + input, "an acyclic graph");
        }
        marks[maker->second] = open;
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
      const std::vector<Type> none;
      inferred = ops_.at(entry.node.op).infer({entry.node.attrs, input_types, none});
    } catch (const Error& error) {
      throw InvalidArgument(fmt::format("[graph line {}] {}", line(), error.what()), error.kind());
    }
    if (inferred.size() != entry.outputs.size()) {
      fail(entry.node.op + " has another number of results", fmt::format("{}", entry.outputs.size()),
           fmt::format("{}", inferred.size()));
    }
    for (size_t k = 0; k < inferred.size(); ++k) {
      if (!entry.types.empty() && entry.types[k].type != inferred[k]) {
        throw InvalidArgument(
            fmt::format("[graph line {}] wrong type of %{} = {}, got {}, expected {}", line(), entry.outputs[k],
                        entry.node.op, print(entry.types[k].type), print(inferred[k])),
            ErrorKind::type);
      }
      const std::string text = entry.types.empty() ? print(inferred[k]) : entry.types[k].text;
      entry.node.outputs.push_back(add_value(entry.outputs[k], {inferred[k], text}, id, static_cast<int>(k)));
    }
    graph_.nodes.push_back(entry.node);
    annotated_.cuts.push_back(entry.cut);
  }

  void add_ends() {
    const auto value = [&](const std::string& name) {
      const auto found = ids_.find(name);
      if (found == ids_.end()) fail("value is used but never made", "%" + name, "a value of this graph");
      return found->second;
    };
    std::unordered_map<ValueId, size_t> states;
    for (size_t s = 0; s < graph_.states.size(); ++s) states.emplace(graph_.states[s].entry, s);
    for (const EndLine& end : ends_) {
      go_to(end.line, end.rest);
      if (end.keyword == "output") {
        const std::string name = word();
        expect("=");
        graph_.outputs.push_back({name, value(value_name())});
        continue;
      }
      const ValueId entry = value(value_name());
      expect("=");
      const ValueId exit = value(value_name());
      const auto found = states.find(entry);
      if (found == states.end()) fail("store to a value that is no state", end.rest, "a state");
      State& state = graph_.states[found->second];
      if (state.exit >= 0) fail("state is written twice", end.rest, "one store");
      state.exit = exit;
    }
  }

  const OpSet& ops_;
  AnnotatedGraph annotated_;
  Graph& graph_ = annotated_.graph;
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<NodeLine> lines_;
  std::vector<EndLine> ends_;
};

}  // namespace

AnnotatedGraph parse_annotated(std::string_view text, const OpSet& ops) { return Parser(text, ops).parse(); }

Graph parse_graph(std::string_view text, const OpSet& ops) {
  AnnotatedGraph annotated = parse_annotated(text, ops);
  const auto refuse = [](const std::string& what, const std::string& got) {
    throw InvalidArgument(fmt::format("[graph] {}, got '{}', expected a graph that is not split", what, got));
  };
  if (!annotated.mesh.empty()) refuse("the graph has a mesh", annotated.mesh);
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
