#include <unordered_map>
#include <utility>

#include "base/scanner.h"
#include "ir/graph/rules.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

class PlanParser : private Scanner {
 public:
  PlanParser(std::string_view text, const Graph& graph, const OpSet& ops)
      : Scanner("plan", text, kNotThis, kNotThis), graph_(graph), rules_(graph, ops), entries_(entry_values(graph)) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      plan_.inputs.emplace_back(graph.type(entries_[i]).shape.size());
      entry_places_.emplace(graph.values[entries_[i]].name, i);
    }
    for (size_t v = 0; v < graph.values.size(); ++v) values_.emplace(graph.values[v].name, v);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      nodes_.emplace(graph.nodes[n].name, n);
      plan_.cuts.emplace_back(rules_[n].factors.size());
    }
  }

  Plan parse() {
    while (next()) {
      whole_ = rest();
      const std::string_view keyword = token();
      if (keyword == "mesh")
        read_mesh();
      else if (keyword == "graph")
        read_once(has_graph_, keyword, plan_.graph);
      else if (keyword == "search")
        read_once(has_search_, keyword, plan_.search);
      else if (keyword == "node")
        read_node_cut();
      else if (keyword == "input")
        read_input();
      else if (keyword == "result")
        read_result();
      else if (keyword == "output")
        read_output();
      else if (keyword == "regather")
        read_regather();
      else
        fail("unknown line", keyword, "graph, search, mesh, input, node, result, output or regather");
    }
    return std::move(plan_);
  }

 private:
  static constexpr std::string_view kNotThis = "not a plan of this version";
  using Index = std::unordered_map<std::string_view, size_t>;

  void read_once(bool& seen, std::string_view keyword, std::string& name) {
    once(seen, keyword);
    name = take_rest();
  }

  void read_mesh() {
    if (std::exchange(mesh_is_fixed_, true)) {
      fail("a second mesh, or one after a cut", whole_, "one, before all cuts");
    }
    plan_.mesh = with_line([&] { return parse_mesh(whole_); });
  }

  void read_node_cut() {
    mesh_is_fixed_ = true;
    const std::string_view name = token();
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) fail("unknown node", name, "a node of graph " + graph_.name);
    plan_.cuts[found->second] = with_line([&] { return parse_cut(take_rest(), rules_[found->second], plan_.mesh); });
  }

  void read_input() {
    const size_t at = find(entry_places_, "unknown input or state");
    plan_.inputs[at] = read_dims(entries_[at]);
  }

  void read_result() {
    const std::string name(rest().substr(0, rest().find(' ')));
    const ValueId value = static_cast<ValueId>(find(values_, "unknown value"));
    if (graph_.values[value].producer < 0) {
      fail("no node computes the value", name, "a result; others have 'input' lines");
    }
    plan_.results[value] = read_dims(value);
  }

  void read_output() {
    const std::string name(token());
    plan_.outputs[name] = read_dims(with_line([&] { return graph_.output(name); }));
  }

  void read_regather() {
    const size_t at = find(entry_places_, "unknown state"), inputs = graph_.inputs.size();
    if (at < inputs) fail("only states can be regathered", graph_.values[entries_[at]].name, "a state");
    if (!plan_.regathered.insert(at - inputs).second) {
      fail("given twice", graph_.values[entries_[at]].name, "it once");
    }
    end();
  }

  /// Reads "%x" and returns what `index` has for "x". Throws InvalidArgument, with the line and `unknown` as what is
  /// wrong, for another text and for a name that it lacks.
  size_t find(const Index& index, std::string_view unknown) {
    const std::string_view name = token();
    const auto found = name.starts_with('%') ? index.find(name.substr(1)) : index.end();
    if (found == index.end()) fail(unknown, name, "one of graph " + graph_.name);
    return found->second;
  }

  /// Reads the axes of each dimension, up to the end of the line. Throws InvalidArgument, with the line, for an axis
  /// that the mesh lacks or other text, and unless there is one entry per dimension of the value.
  std::vector<Axes> read_dims(ValueId value) {
    mesh_is_fixed_ = true;
    std::vector<Axes> dims = with_line([&] { return parse_dims(take_rest(), plan_.mesh); });
    if (dims.size() != graph_.type(value).shape.size()) {
      fail("wrong number of dimensions", whole_, print(graph_.type(value)));
    }
    return dims;
  }

  const Graph& graph_;
  const Rules rules_;
  const std::vector<ValueId> entries_;  // inputs, then states
  Index nodes_, entry_places_, values_;
  Plan plan_;
  bool has_graph_ = false, has_search_ = false;
  bool mesh_is_fixed_ = false;  // whether a line that uses the mesh has been read
  std::string_view whole_;      // the current line
};

}  // namespace

Plan parse_plan(std::string_view text, const Graph& graph, const OpSet& ops) {
  Plan plan = PlanParser(text, graph, ops).parse();
  verify(plan, graph, ops);
  return plan;
}

}  // namespace partita
