#include "compiler/search/named_cuts.h"

#include <algorithm>
#include <set>

#include "base/cursor.h"
#include "base/scanner.h"
#include "compiler/plan/network_names.h"
#include "compiler/search/plain_graph.h"
#include "compiler/search/propagation.h"
#include "compiler/search/search_cuts.h"

namespace partita {
namespace {

bool is_of_nodes(NamedKind kind) { return kind != NamedKind::input && kind != NamedKind::state; }

Phase phase_of(NamedKind kind) {
  return kind == NamedKind::gradient || kind == NamedKind::gradient_result ? Phase::backward : Phase::forward;
}

/// The text of a line after its names.
class LineRest : public Cursor {
 public:
  explicit LineRest(std::string_view text) : Cursor(text) {}

 protected:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override {
    return fmt::format("{}, got '{}', expected {}", what, got, expected);
  }
};

/// Reads lines of text for the graph that they cut.
class NamedReader {
 public:
  NamedReader(const NamedCuts& named, const Graph& graph, const Rules& rules, bool any_purpose)
      : named_(named), graph_(graph), rules_(rules), any_(any_purpose), names_(network_names(graph)), partial_(graph) {
    for (size_t n = 0; n < names_.size(); ++n) {
      if (!names_[n].empty()) index_.emplace(std::pair(graph.nodes[n].phase, std::string_view(names_[n])), n);
    }
    for (size_t i = 0; i < graph.inputs.size(); ++i) inputs_.emplace(name_of_value(graph.inputs[i].value), i);
    for (size_t s = 0; s < graph.states.size(); ++s) states_.emplace(name_of_value(graph.states[s].entry), s);
  }

  PartialPlan run() {
    for (const NamedLine& line : named_.lines) {
      line_ = &line;
      if (any_) require_written();
      if (line.kind == NamedKind::input)
        read_input();
      else if (line.kind == NamedKind::state)
        read_state();
      else
        read_nodes();
    }
    if (named_.others) return std::move(partial_);
    for (size_t n = 0; n < names_.size(); ++n) {
      const bool is_open = graph_.nodes[n].phase == Phase::forward && !partial_.cuts[n] && !refused_.contains(n) &&
                           !rules_.op(n).traits.is_conversion;  // these follow their operands
      if (is_open) partial_.cuts[n] = Cut(rules_[n].factors.size());
    }
    return std::move(partial_);
  }

 private:
  std::string_view name_of_value(ValueId value) const { return graph_.values[value].name; }

  [[noreturn]] void fail(std::string_view what, std::string_view got, const std::string& expected) const {
    throw InvalidArgument("[{}:{}] {}, got '{}', expected {}", named_.file, line_->line, what, got, expected);
  }
  template <class Read>
  auto with_line(const Read& read) const {
    return with_place(fmt::format("{}:{}", named_.file, line_->line), read);
  }

  /// Checks what must hold for any graph, also of lines that an evaluation skips: each list of axes is complete and
  /// names axes of the mesh. Throws InvalidArgument otherwise.
  void require_written() const {
    const bool is_cut = line_->kind == NamedKind::node || line_->kind == NamedKind::gradient;
    with_line([&] {
      LineRest rest(line_->text);
      while (!rest.rest().empty()) {
        if (is_cut) {
          rest.until("=");
          parse_axes(fmt::format("{}}}", rest.until("}")), named_.mesh);
        } else if (const std::string_view dim = rest.token(); dim.starts_with('{')) {
          parse_axes(dim, named_.mesh);
        }
      }
    });
  }

  template <class Index>
  std::optional<size_t> find(const Index& index, std::string_view what) const {
    const std::string_view name = line_->names;
    const auto found = name.starts_with('%') ? index.find(name.substr(1)) : index.end();
    if (found != index.end()) return found->second;
    if (any_) return std::nullopt;
    std::vector<std::string> known;
    for (const auto& [one, at] : index) known.push_back(fmt::format("%{}", one));
    fail(fmt::format("unknown {}", what), name,
         fmt::format("one of graph {}{}", graph_.name, did_you_mean(name, known)));
  }

  void read_input() {
    const auto at = find(inputs_, "input");
    if (!at) return;
    if (!given_.insert({NamedKind::input, *at}).second) fail("given twice", line_->names, "it once");
    if (auto dims = read_dims(graph_.type(graph_.inputs[*at].value), line_->text)) partial_.inputs[*at] = *dims;
  }

  void read_state() {
    const auto at = find(states_, "state");
    if (!at) return;
    if (!given_.insert({NamedKind::state, *at}).second) fail("given twice", line_->names, "it once");
    if (auto dims = read_dims(graph_.type(graph_.states[*at].entry), line_->text)) partial_.states[*at] = *dims;
  }

  /// Reads "[64,128] {data} {}". None if the graph may have another purpose and cannot be cut that way. Throws
  /// InvalidArgument for other texts and, if it has the same purpose, for other sizes and illegal cuts.
  std::optional<std::vector<Axes>> read_dims(const Type& type, std::string_view text) const {
    LineRest rest(text);
    const std::string sizes = print(type.shape);
    const std::string_view given = rest.token();
    if (given != sizes && !any_) fail("other sizes", fmt::format("{} {}", line_->names, given), sizes);
    std::vector<Axes> dims = with_line([&] { return parse_dims(rest.take_rest(), named_.mesh); });
    if (dims.size() != type.shape.size()) {
      fail("wrong number of dimensions", line_->text, fmt::format("the axes of each of {}", sizes));
    }
    const std::string reason = illegal(type, dims, named_.mesh);
    if (reason.empty()) return dims;
    if (any_) return std::nullopt;
    fail(fmt::format("cannot be cut like this: {}", reason), line_->text, fmt::format("axes that fit {}", sizes));
  }

  std::vector<size_t> nodes_named() const {
    const std::string_view names = line_->names;
    const Phase phase = phase_of(line_->kind);
    std::vector<size_t> found;
    if (is_single_name(names)) {
      const auto one = index_.find(std::pair(phase, names));
      if (one != index_.end()) found.push_back(one->second);
    } else {
      for (size_t n = 0; n < names_.size(); ++n) {
        if (graph_.nodes[n].phase == phase && !names_[n].empty() && matches_names(names, names_[n])) found.push_back(n);
      }
    }
    if (!found.empty() || any_) return found;
    std::vector<std::string> known;
    for (size_t n = 0; n < names_.size(); ++n) {
      if (graph_.nodes[n].phase == phase && !names_[n].empty()) known.push_back(names_[n]);
    }
    fail("unknown node", names,
         fmt::format("one of the {} nodes of graph {}{}", known.size(), graph_.name, did_you_mean(names, known)));
  }

  void read_nodes() {
    const bool is_result = line_->kind == NamedKind::result || line_->kind == NamedKind::gradient_result;
    for (const size_t n : nodes_named()) {
      if (is_result)
        read_result(n);
      else
        read_cut(n);
    }
  }

  void read_cut(size_t n) {
    if (!given_.insert({NamedKind::node, n}).second) {
      fail("a node is named twice", line_->names, fmt::format("one line for {}", names_[n]));
    }
    const ShardingRule& rule = rules_[n];
    Cut cut;
    try {
      cut = with_line([&] { return parse_cut(line_->text, rule, named_.mesh); });
      with_line([&] { require_legal("plan", names_[n], rule, cut, named_.mesh); });
      if (needs_expansion(rule, cut) && !rules_.expandable(n)) {
        fail("a factor is cut that needs an expansion, and the op has none", line_->text,
             fmt::format("a cut of other factors of {}", print(rule)));
      }
    } catch (const InvalidArgument&) {
      if (!any_) throw;
      refused_.insert(n);
      return;
    }
    partial_.cuts[n] = std::move(cut);
  }

  void read_result(size_t n) {
    LineRest rest(line_->text);
    const Node& node = graph_.nodes[n];
    size_t output = 0;
    if (!rest.rest().starts_with('[')) {
      output = static_cast<size_t>(with_line(
          [&] { return rest.number(1, static_cast<int64_t>(node.outputs.size()) - 1, "the number of a result"); }));
    }
    const ValueId value = node.outputs[output];
    if (!given_.insert({NamedKind::result, static_cast<size_t>(value)}).second) {
      fail("given twice", line_->names, "it once");
    }
    if (auto dims = read_dims(graph_.type(value), rest.rest())) partial_.results[value] = *dims;
  }

  const NamedCuts& named_;
  const Graph& graph_;
  const Rules& rules_;
  const bool any_;  // whether the graph may have another purpose
  const std::vector<std::string> names_;
  std::map<std::pair<Phase, std::string_view>, size_t> index_;  // nodes
  std::map<std::string_view, size_t> inputs_, states_;
  std::set<std::pair<NamedKind, size_t>> given_;
  std::set<size_t> refused_;  // nodes that an evaluation cannot cut that way
  const NamedLine* line_ = nullptr;
  PartialPlan partial_;
};

/// Writes the lines of a plan.
class NamedWriter {
 public:
  NamedWriter(const Plan& plan, const Graph& graph, const Rules& rules)
      : plan_(plan), graph_(graph), rules_(rules), names_(network_names(graph)) {}

  NamedCuts run() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ValueId value = graph_.inputs[i].value;
      if (graph_.type(value).rank() > 0) add_value(NamedKind::input, value, plan_.inputs[i]);
    }
    for (size_t n = 0; n < names_.size(); ++n) {
      if (graph_.nodes[n].phase == Phase::forward) add_cut(n);
    }
    for (const auto& [value, dims] : plan_.results) add_result(value, dims);
    // Add lines where completion gives something else than the plan, until it gives the plan.
    while (add_differences(complete_plan(graph_, rules_, plan_.mesh, plan_.search, decided()))) {
    }
    return named();
  }

 private:
  void add_value(NamedKind kind, ValueId value, const std::vector<Axes>& dims) {
    const std::string axes = print_dims(dims, plan_.mesh);
    lines_[kind].push_back({"%" + graph_.values[value].name,
                            fmt::format("{}{}{}", print(graph_.type(value).shape), axes.empty() ? "" : " ", axes)});
  }

  void add_cut(size_t n) {
    const bool is_forward = graph_.nodes[n].phase == Phase::forward;
    const std::string cut = print(plan_.cuts[n], rules_[n], plan_.mesh);
    if (cut.empty() && is_forward) return;
    lines_[is_forward ? NamedKind::node : NamedKind::gradient].push_back({names_[n], cut});
  }

  void add_result(ValueId value, const std::vector<Axes>& dims) {
    const ValueInfo& info = graph_.values[value];
    const auto producer = static_cast<size_t>(info.producer);
    PARTITA_CHECK(info.producer >= 0 && !names_[producer].empty(), "a result of {} has no name", info.name);
    const bool is_forward = graph_.nodes[producer].phase == Phase::forward;
    lines_[is_forward ? NamedKind::result : NamedKind::gradient_result].push_back(
        {names_[producer], fmt::format("{}{} {}", info.output > 0 ? fmt::format("{} ", info.output) : "",
                                       print(info.type.shape), print_dims(dims, plan_.mesh))});
  }

  bool add_differences(const Plan& derived) {
    const size_t inputs = graph_.inputs.size();
    bool added = false;
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      if (derived.inputs[inputs + s] == plan_.inputs[inputs + s] || !named_states_.insert(s).second) continue;
      add_value(NamedKind::state, graph_.states[s].entry, plan_.inputs[inputs + s]);
      added = true;
    }
    if (added) return true;  // much may follow from these
    for (size_t n = 0; n < names_.size(); ++n) {
      if (derived.cuts[n] == plan_.cuts[n] || names_[n].empty() || !named_gradients_.insert(n).second) continue;
      add_cut(n);
      added = true;
    }
    return added;
  }

  PartialPlan decided() const { return partial_plan_of(named(), graph_, rules_); }

  NamedCuts named() const {
    NamedCuts cuts{.file = "plan", .mesh = plan_.mesh, .lines = {}};
    for (const auto& [kind, lines] : lines_) {
      const bool has_ranges = is_of_nodes(kind);
      for (const NamedText& line : has_ranges ? collapsed(lines) : lines) {
        cuts.lines.push_back({kind, line.names, line.text});
      }
    }
    return cuts;
  }

  const Plan& plan_;
  const Graph& graph_;
  const Rules& rules_;
  const std::vector<std::string> names_;
  std::map<NamedKind, std::vector<NamedText>> lines_;
  std::set<size_t> named_states_, named_gradients_;
};

/// Whether a line names a conversion, such as a rounding of mixed precision.
bool names_conversions(const NamedCuts& named, const Graph& graph, const OpSet& ops) {
  const std::vector<std::string> names = network_names(graph);
  for (size_t n = 0; n < names.size(); ++n) {
    const OpDef* op = ops.find(graph.nodes[n].op);
    if (op == nullptr || !op->traits.is_conversion || names[n].empty()) continue;
    const auto has_name = [&](const NamedLine& line) {
      return is_of_nodes(line.kind) && matches_names(line.names, names[n]);
    };
    if (std::ranges::any_of(named.lines, has_name)) return true;
  }
  return false;
}

}  // namespace

NamedCuts name_cuts(const Plan& plan, const Graph& graph, const Rules& rules) {
  return NamedWriter(plan, graph, rules).run();
}

PartialPlan partial_plan_of(const NamedCuts& named, const Graph& graph, const Rules& rules, bool any_purpose) {
  return NamedReader(named, graph, rules, any_purpose).run();
}

Plan plan_of(const NamedCuts& named, const Graph& graph, const OpSet& ops, bool any_purpose) {
  const Rules rules(graph, ops);
  if (has_roundings(graph, ops) && !names_conversions(named, graph, ops)) {
    const Graph plain = without_roundings(graph, ops);
    return with_roundings(plan_of(named, plain, ops, any_purpose), plain, graph, rules);
  }
  PartialPlan partial = partial_plan_of(named, graph, rules, any_purpose);
  if (named.others == Search::propagation) return propagate(graph, rules, named.mesh, std::move(partial));
  std::string search = "file";
  if (named.others) {
    search = name_of(*named.others);
    const CutSearch others{.kind = *named.others, .costs = PlanCosts::bytes(named.mesh)};
    partial = search_cuts(graph, rules, ops, named.mesh, partial, others).partial;
  }
  return complete_plan(graph, rules, named.mesh, std::move(search), std::move(partial));
}

NamedCuts without_axis(NamedCuts named, std::string_view axis) {
  const auto is_gone = [&](std::string_view name) {
    return name == axis || (name.starts_with(axis) && name.substr(axis.size()).starts_with('.'));
  };
  std::vector<std::pair<std::string, int64_t>> axes = named.mesh.named();
  std::erase_if(axes, [&](const auto& one) { return one.first == axis; });
  named.mesh = named.mesh.is_undivided() ? Mesh::undivided(axes) : Mesh(axes);
  for (NamedLine& line : named.lines) {
    std::string text;
    std::string_view rest = line.text;
    for (size_t open = 0; (open = rest.find('{')) != rest.npos;) {
      const size_t close = std::min(rest.find('}', open), rest.size() - 1);
      text += rest.substr(0, open + 1);
      std::string_view names = rest.substr(open + 1, close - open - 1);
      for (bool first = true; !names.empty();) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(std::min(names.size(), name.size() + 1));
        if (is_gone(name)) continue;
        text += fmt::format("{}{}", first ? "" : ",", name);
        first = false;
      }
      text += '}';
      rest.remove_prefix(close + 1);
    }
    line.text = text + std::string(rest);
  }
  return named;
}

}  // namespace partita
