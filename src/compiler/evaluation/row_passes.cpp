#include "compiler/evaluation/row_passes.h"

#include <algorithm>
#include <numeric>

#include "compiler/plan/micro_cuts.h"
#include "compiler/plan/outputs.h"
#include "ir/graph/local_node.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/shape/attrs.h"
#include "ir/sharding/propagate.h"

namespace partita {
namespace {

using DimAxes = std::vector<Axes>;

/// Returns a graph with the outputs kLabelPlace and kFiniteRow in place of "logits", if it has an input "label" with a
/// number for each row of logits.
Graph with_places(Graph graph, const OpSet& ops) {
  const auto logits = std::ranges::find_if(graph.outputs, [](const Output& output) { return output.name == "logits"; });
  const auto label = std::ranges::find_if(graph.inputs, [&](const Input& input) {
    return graph.values[input.value].name == "label" && input.batch_dim == 0;
  });
  if (logits == graph.outputs.end() || label == graph.inputs.end()) return graph;
  const ValueId rows = logits->value, ids = label->value;
  const Type &of_rows = graph.type(rows), &of_ids = graph.type(ids);
  const bool fits = is_float(of_rows.dtype) && of_rows.rank() == of_ids.rank() + 1 && of_rows.shape.back() > 0 &&
                    std::equal(of_ids.shape.begin(), of_ids.shape.end(), of_rows.shape.begin()) &&
                    (of_ids.dtype == DType::i32 || of_ids.dtype == DType::i64);
  if (!fits) return graph;
  graph.outputs.erase(logits);
  const NodeId maker = graph.values[rows].producer;
  Builder builder(ops, std::move(graph));
  if (maker >= 0) builder.stage = builder.graph().nodes[maker].stage;
  const std::vector<Value> places = builder.apply_all("label_place", {builder.value(rows), builder.value(ids)});
  builder.output(std::string(kLabelPlace), places[0]);
  builder.output(std::string(kFiniteRow), places[1]);
  return builder.take();
}

/// Returns the part of `graph` that computes its scalar outputs and, if `labels` is set, what is compared with labels:
/// the places of these if `places` is set.
/// No state is written: all rows read the states at entry.
Graph wanted_part(Graph graph, const OpSet& ops, bool labels, bool places) {
  if (labels && places) graph = with_places(std::move(graph), ops);
  std::erase_if(graph.outputs, [&](const Output& output) {
    return graph.type(output.value).rank() > 0 && !(labels && compares_labels(output.name));
  });
  for (State& state : graph.states) state.exit = -1;
  return remove_dead_nodes(std::move(graph));
}

/// Whether both graphs have the same ops on the same values and states of the same names and types: one network, maybe
/// for different numbers of rows.
bool is_alike(const Graph& a, const Graph& b) {
  const auto same_node = [](const Node& one, const Node& other) {
    return one.op == other.op && one.inputs == other.inputs && one.outputs == other.outputs;
  };
  const auto same_state = [&](const State& one, const State& other) {
    return a.values[one.entry].name == b.values[other.entry].name && a.type(one.entry) == b.type(other.entry);
  };
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), same_node) &&
         std::equal(a.states.begin(), a.states.end(), b.states.begin(), b.states.end(), same_state);
}

InvalidArgument depends_on_rows(int64_t rows, int64_t others, int64_t batch) {
  return InvalidArgument(
      "[eval] the network depends on the number of its rows, got a different one for {} rows than for {}, expected a "
      "number of rows that batches of {} divide",
      rows, others, batch);
}

/// Returns cuts for a graph without micro-batches.
MicroCuts no_cuts(const Graph& graph, const Rules& rules) {
  MicroCuts cuts;
  for (const ValueInfo& value : graph.values) cuts.values.emplace_back(value.type.shape.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) cuts.nodes.emplace_back(rules[n].factors.size());
  cuts.partial.resize(graph.values.size(), Reduce::none);
  cuts.late.resize(graph.values.size(), false);
  return cuts;
}

}  // namespace

/// A graph of all rows, and how batches split it.
struct RowPasses::Analysis {
  const OpSet& ops;
  RowBatches batches;
  Graph whole;
  int64_t rows = 1;     // rows of `whole`
  int64_t repeats = 1;  // number of batches, each with the rows of `whole`
  bool means = false;   // whether the scalars of each batch are averaged
  Rules rules;
  Rules cut_rules;  // rules of the same graph with fewer rows, if there would be too many micro-batches
  Mesh mesh;
  MicroCuts cuts;
  std::vector<int> level{};  // per value: the pass that makes it, or after which it is computed

  bool is_cut_value(ValueId value) const { return is_cut(cuts.values[value]); }
  bool is_partial(ValueId value) const { return cuts.partial[value] != Reduce::none; }
  /// Whether a node's result is made in parts, one per batch.
  bool is_loop(size_t n) const {
    const std::vector<ValueId>& outputs = whole.nodes[n].outputs;
    return is_cut(cuts.nodes[n]) || std::ranges::any_of(outputs, [&](ValueId output) { return is_partial(output); });
  }
  /// Whether a value is computed once, from the results of all batches.
  bool is_late(ValueId value) const {
    const NodeId maker = whole.values[value].producer;
    return maker >= 0 && cuts.late[value] && !is_loop(static_cast<size_t>(maker));
  }
  /// Whether a node of a batch takes a value over all batches, which an earlier pass made.
  bool is_given(size_t n, ValueId operand) const {
    return is_late(operand) || (is_partial(operand) && is_cut(cuts.nodes[n]));
  }
  DimAxes wanted(size_t n, size_t operand) const {
    return dims_from_factors(cut_rules[n], cuts.nodes[n], cut_rules[n].inputs[operand]);
  }

  void find_levels() {
    level.assign(whole.values.size(), 0);
    for (size_t n = 0; n < whole.nodes.size(); ++n) {
      const Node& node = whole.nodes[n];
      const bool late = is_late(node.outputs[0]);
      int own = 0;
      for (const ValueId input : node.inputs) {
        if (late && is_cut_value(input)) refuse(n);
        own = std::max(own, level[input] + (!late && is_given(n, input) ? 1 : 0));
      }
      for (const ValueId output : node.outputs) level[output] = own;
    }
  }

  /// Whether repeated batches yield exact means over all rows and ratios of sums. They do if no scalar has a divisor of
  /// its own, which would depend on the number of rows in a batch.
  bool has_ratios_alone() const {
    std::vector<Degree> degrees;
    for (const ValueInfo& value : whole.values) {
      degrees.push_back(value.producer < 0 ? Degree::none : degree_of(static_cast<size_t>(value.producer), degrees));
    }
    return std::ranges::all_of(whole.outputs, [&](const Output& output) {
      return whole.type(output.value).rank() > 0 || degrees[output.value] == Degree::none;
    });
  }

  /// Growth of a value with the number of batches whose sums are joined.
  enum class Degree { none, linear, unknown };
  Degree degree_of(size_t n, const std::vector<Degree>& known) const {
    const Node& node = whole.nodes[n];
    const bool sums =
        is_partial(node.outputs[0]) && std::ranges::none_of(node.inputs, [&](ValueId v) { return is_partial(v); });
    if (sums)
      return cuts.partial[node.outputs[0]] != Reduce::sum || share_of_mean(n, 1) ? Degree::none : Degree::linear;
    std::vector<int> inputs;
    for (const ValueId input : node.inputs) {
      if (known[input] == Degree::unknown) return Degree::unknown;
      inputs.push_back(known[input] == Degree::linear ? 1 : 0);
    }
    if (std::ranges::find(inputs, 1) == inputs.end()) return Degree::none;
    const auto& degree = rules.op(n).traits.degree;
    const std::optional<int> found = degree ? degree(node.attrs, inputs) : std::nullopt;
    return found == 0 ? Degree::none : found == 1 ? Degree::linear : Degree::unknown;
  }
  /// For a mean over the rows of a batch: returns attributes that make it the share of one of `parts` equal batches in
  /// the mean over all. Returns none for other nodes, such as a sum with another scale.
  std::optional<Attrs> share_of_mean(size_t n, int64_t parts) const {
    const Node& node = whole.nodes[n];
    const auto& share = rules.op(n).traits.share_of_mean;
    if (!share || !is_cut_value(node.inputs[0])) return std::nullopt;
    const std::vector<Type> operands = whole.types(node.inputs), results = whole.types(node.outputs);
    return share({node.attrs, operands, results}, parts);
  }

  [[noreturn]] void refuse(size_t n) const {
    throw InvalidArgument(
        "[eval] a node needs all rows at once, got {} with batches of {} of {} rows, expected all rows in one batch "
        "(--eval-batch {}), or sums and means over the rows",
        described_with_line(whole.nodes[n]), batches.batch, batches.rows, batches.rows);
  }
};

/// Builds the graph of a batch, node by node.
class RowPasses::BatchGraph {
 public:
  BatchGraph(const Analysis& found, int64_t batch)
      : a_(found),
        batch_(found.repeats > 1 ? found.rows : batch),
        local_(found.whole),
        builder_(found.ops, head()),
        made_(found.whole.values.size()) {
    builder_.reserve_names(a_.whole);
    const Graph& head = builder_.graph();
    for (size_t i = 0; i < head.inputs.size(); ++i) {
      made_[a_.whole.inputs[i].value] = builder_.value(head.inputs[i].value);
    }
    for (size_t s = 0; s < head.states.size(); ++s) {
      made_[a_.whole.states[s].entry] = builder_.value(head.states[s].entry);
    }
  }

  Graph run(const std::vector<std::pair<std::string, ValueId>>& outputs) {
    std::vector<bool> needed(made_.size(), false);
    for (const auto& [name, value] : outputs) needed[value] = true;
    for (size_t n = a_.whole.nodes.size(); n-- > 0;) {
      const Node& node = a_.whole.nodes[n];
      if (!any_marked(node.outputs, needed)) continue;
      for (const ValueId input : node.inputs) needed[input] = needed[input] || !a_.is_given(n, input);
    }
    for (size_t n = 0; n < a_.whole.nodes.size(); ++n) {
      const Node& node = a_.whole.nodes[n];
      if (any_marked(node.outputs, needed)) make(n);
    }
    for (const auto& [name, value] : outputs) {
      Value result = made_[value];
      if (a_.whole.values[value].producer < 0) {  // the output is a state itself
        result = builder_.apply("reshape", {result}, ReshapeAttrs{.shape = result.shape()});
      }
      if (a_.means && result.shape().empty()) {
        result = builder_.apply("scale", {result}, ScaleAttrs{.scale = 1.0 / static_cast<double>(a_.repeats)});
      }
      builder_.output(name, result);
    }
    return remove_dead_nodes(builder_.take());
  }

 private:
  /// Returns a graph of the inputs, with the rows of a batch, and the states. Sets their types in `local_`, too.
  Graph head() {
    Graph head;
    head.name = a_.whole.name;
    const auto keep = [&](ValueId old) {
      head.values.push_back({part_of(a_.whole.type(old), a_.cuts.values[old]), a_.whole.values[old].name});
      local_.values[old].type = head.values.back().type;
      return static_cast<ValueId>(head.values.size()) - 1;
    };
    for (Input input : a_.whole.inputs) {
      input.value = keep(input.value);
      head.inputs.push_back(input);
    }
    for (State state : a_.whole.states) {
      state.entry = keep(state.entry);
      head.states.push_back(std::move(state));
    }
    return head;
  }

  /// Returns rows [first, first + batch) of a dimension of `size`, which batches split in proportion. Throws
  /// InternalError if the batch does not divide it.
  Range rows_of(int64_t size, int64_t first) const {
    PARTITA_CHECK(size * batch_ % a_.rows == 0, "{} of {} rows do not cut {}", batch_, a_.rows, size);
    return {size * first / a_.rows, size * (first + batch_) / a_.rows, size};
  }
  Type part_of(Type type, const DimAxes& dims) const {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!dims[d].empty()) type.shape[d] = rows_of(type.shape[d], 0).count();
    }
    return type;
  }

  /// Returns the attributes of a node for the rows of a batch from `first` on.
  Attrs attrs_at(size_t n, const Cut& cut, int64_t first) const {
    std::vector<Range> factors;
    for (size_t f = 0; f < cut.size(); ++f) {
      const int64_t size = a_.rules[n].factors[f].size;
      factors.push_back(cut[f].empty() ? Range{0, size, size} : rows_of(size, first));
    }
    return local_attrs(a_.whole, static_cast<NodeId>(n), a_.rules, std::move(factors));
  }

  /// Returns the attributes of a batch's part of a node. Throws InvalidArgument if they depend on which rows the batch
  /// has.
  Attrs attrs_of(size_t n, const Cut& cut) const {
    if (a_.repeats > 1) return repeated(n);
    if (!is_cut(cut)) return a_.whole.nodes[n].attrs;
    const Attrs first = attrs_at(n, cut, 0);
    if (first != attrs_at(n, cut, a_.rows - batch_)) a_.refuse(n);
    return first;
  }

  /// Returns the attributes in a batch that is one of several: means become shares of means over all rows.
  Attrs repeated(size_t n) const {
    const Node& node = a_.whole.nodes[n];
    if (!a_.is_partial(node.outputs[0])) return node.attrs;
    return a_.share_of_mean(n, a_.repeats).value_or(node.attrs);
  }

  void make(size_t n) {
    const Node& node = a_.whole.nodes[n];
    if (a_.is_late(node.outputs[0]) || made_[node.outputs[0]]) return;
    std::vector<Value> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const DimAxes wanted = a_.wanted(n, i);
      const bool slices = is_cut(wanted) && !a_.is_cut_value(input);
      operands.push_back(slices ? slice(n, input, wanted) : a_.is_given(n, input) ? given(input) : whole(input));
    }
    Node copy = node;
    copy.attrs = attrs_of(n, a_.cuts.nodes[n]);
    std::vector<Type> inputs;
    for (const Value& operand : operands) inputs.push_back(operand.type());
    for (const ValueId output : node.outputs) {
      local_.values[output].type = part_of(a_.whole.type(output), a_.cuts.values[output]);
    }
    require_local_results(node, a_.rules.op(n), copy.attrs, inputs, local_.types(node.outputs), "in a batch");
    const std::vector<Value> results = builder_.copy_node(local_, copy, operands);
    for (size_t k = 0; k < results.size(); ++k) made_[node.outputs[k]] = results[k];
  }

  /// Returns a value as the batch has it. Makes it now if only a slice of another value needs it.
  Value whole(ValueId value) {
    const NodeId maker = a_.whole.values[value].producer;
    if (!made_[value] && maker >= 0) make(static_cast<size_t>(maker));
    return made_[value];
  }

  /// Returns the input for a value that an earlier pass made; adds it at the first call.
  Value given(ValueId value) {
    if (given_.contains(value)) return given_.at(value);
    const ValueInfo& info = a_.whole.values[value];
    return given_[value] = builder_.input(given_name(info.name), info.type);
  }

  /// Returns the rows of a batch of a value that is not split (a constant, a number for every row), by computing it
  /// anew at the first call. `dims`: how batches split it for the node `user`. Throws InvalidArgument, naming a node,
  /// if it cannot be computed for some of the rows alone.
  Value slice(size_t user, ValueId value, const DimAxes& dims) {
    if (slices_.contains({value, dims})) return slices_.at({value, dims});
    const NodeId maker = a_.whole.values[value].producer;
    if (maker < 0) a_.refuse(user);
    const auto n = static_cast<size_t>(maker);
    const Node& node = a_.whole.nodes[n];
    const auto k = static_cast<size_t>(a_.whole.values[value].output);
    const ShardingRule& rule = a_.cut_rules[n];
    const Cut cut = suggest_cut(rule, {{&rule.outputs[k], dims}}, a_.mesh, /*expandable=*/false);
    const Sharding result = output_sharding(rule, cut, static_cast<int>(k));
    if (result.dims != dims || !result.partial.empty()) a_.refuse(n);
    std::vector<Value> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const DimAxes wanted = dims_from_factors(rule, cut, rule.inputs[i]);
      if (is_cut(wanted) && !a_.is_cut_value(input)) {
        operands.push_back(slice(n, input, wanted));
      } else {
        operands.push_back(a_.is_late(input) || a_.is_partial(input) ? given(input) : whole(input));
      }
    }
    builder_.scope = node.scope;
    builder_.source = node.source;
    builder_.stage = node.stage;
    const Value made = builder_.apply_all(node.op, operands, attrs_of(n, cut)).at(k);
    slices_[{value, dims}] = made;
    return made;
  }

  const Analysis& a_;
  const int64_t batch_;
  Graph local_;  // the whole graph with the types of a batch
  Builder builder_;
  std::vector<Value> made_;  // per value of the whole graph
  std::map<ValueId, Value> given_;
  std::map<std::pair<ValueId, DimAxes>, Value> slices_;
};

RowPasses::RowPasses(const BuildForRows& build_for, const OpSet& ops, const RowBatches& batches) {
  const auto build = [&](int64_t rows) { return wanted_part(build_for(rows), ops, batches.labels, batches.places); };
  Graph whole = build(batches.batch);
  int64_t rows = batches.batch, repeats = 1;
  if (rows < batches.rows) {
    std::exception_ptr error;
    std::optional<Graph> all;
    try {
      all = build(batches.rows);
      if (!is_alike(*all, whole)) all.reset();
    } catch (const std::exception&) {  // any exception: the network is a user's function
      error = std::current_exception();
    }
    if (all) {
      whole = std::move(*all);
      rows = batches.rows;
    } else if (batches.rows % rows == 0 && rows > 1) {
      repeats = batches.rows / rows;
    } else if (error) {
      std::rethrow_exception(error);
    } else {
      throw depends_on_rows(batches.rows, rows, rows);
    }
  }
  // `unit` divides the first row of every batch.
  int64_t unit = repeats > 1 ? 1 : std::gcd(batches.batch, rows);
  if (repeats > 1) {
    while (rows / unit > kMaxMicroBatches || rows % unit != 0) ++unit;
  }
  std::optional<Graph> fewer;
  int64_t count = rows / unit;
  if (count > kMaxMicroBatches) {
    count = kMaxMicroBatches;
    fewer = build(unit * count);
    if (!is_alike(*fewer, whole)) throw depends_on_rows(rows, unit * count, batches.batch);
  }
  const Graph& cut_graph = fewer ? *fewer : whole;
  Rules rules(whole, ops), cut_rules(cut_graph, ops);
  MicroCuts cuts = count > 1 ? find_micro_cuts(cut_graph, cut_rules, count, Needed::anything) : no_cuts(whole, rules);
  const auto found = std::make_shared<Analysis>(Analysis{.ops = ops,
                                                         .batches = batches,
                                                         .whole = std::move(whole),
                                                         .rows = rows,
                                                         .repeats = repeats,
                                                         .rules = std::move(rules),
                                                         .cut_rules = std::move(cut_rules),
                                                         .mesh = Mesh().with_micro_batches(count),
                                                         .cuts = std::move(cuts)});
  found_ = found;
  if (repeats == 1) {
    find_passes(*found);
  } else {
    find_repeated(*found);
  }
}

void RowPasses::find_repeated(Analysis& found) {
  try {
    if (found.cuts.count > 1 && found.has_ratios_alone()) {
      find_passes(found);
      return;
    }
  } catch (const InvalidArgument&) {  // the network may hold an array with as many rows as a batch
  }
  found.means = true;
  found.cuts = no_cuts(found.whole, found.rules);
  passes_.clear();
  scalars_.clear();
  find_passes(found);
}

void RowPasses::find_passes(Analysis& found) {
  found.find_levels();
  find_results();
  // Building the graphs throws what is refused.
  for (size_t pass = 0; pass < passes_.size(); ++pass) batch_graph(pass, found.batches.batch);
}

const Graph& RowPasses::whole() const { return found_->whole; }

void RowPasses::find_results() {
  const Analysis& a = *found_;
  std::vector<bool> wanted(a.whole.values.size(), false);
  int compared = -1, last = 0;
  for (const Output& output : a.whole.outputs) {
    if (a.whole.type(output.value).rank() == 0) {
      scalars_.emplace_back(output.name, a.whole.values[output.value].name);
      wanted[output.value] = !a.is_late(output.value);
      continue;
    }
    const bool has_rows = a.cuts.count == 1 || a.is_cut_value(output.value);
    if (!has_rows && a.whole.values[output.value].producer >= 0) {
      a.refuse(static_cast<size_t>(a.whole.values[output.value].producer));
    }
    compared = a.level[output.value];
  }
  std::stable_partition(scalars_.begin(), scalars_.end(), [](const auto& scalar) { return scalar.first == "loss"; });
  for (size_t n = 0; n < a.whole.nodes.size(); ++n) {
    const Node& node = a.whole.nodes[n];
    const bool late = a.is_late(node.outputs[0]);
    for (const ValueId input : node.inputs) {
      if (!a.is_late(input) && (late || (a.is_partial(input) && a.is_given(n, input)))) wanted[input] = true;
    }
  }
  for (size_t v = 0; v < wanted.size(); ++v) {
    if (wanted[v]) last = std::max(last, a.level[v]);
  }
  passes_.resize(static_cast<size_t>(std::max(last, compared)) + 1);
  for (size_t v = 0; v < wanted.size(); ++v) {
    if (!wanted[v]) continue;
    passes_[static_cast<size_t>(a.level[v])].results.push_back(
        {a.whole.values[v].name, a.whole.values[v].type, a.means ? Reduce::sum : a.cuts.partial[v]});
  }
  if (compared >= 0) passes_[static_cast<size_t>(compared)].compares_labels = true;
}

Graph RowPasses::batch_graph(size_t pass, int64_t batch) const {
  const Analysis& a = *found_;
  std::map<std::string_view, ValueId> values;
  for (size_t v = 0; v < a.whole.values.size(); ++v) values.emplace(a.whole.values[v].name, static_cast<ValueId>(v));
  std::vector<std::pair<std::string, ValueId>> outputs;
  for (const Result& result : passes_[pass].results) outputs.emplace_back(result.name, values.at(result.name));
  for (const Output& output : a.whole.outputs) {
    if (passes_[pass].compares_labels && partita::compares_labels(output.name))
      outputs.emplace_back(output.name, output.value);
  }
  return BatchGraph(a, batch).run(outputs);
}

Graph RowPasses::joined_graph(size_t pass) const {
  const Analysis& a = *found_;
  Builder builder(a.ops, a.whole.name);
  std::map<ValueId, Value> made;
  for (const Node& node : a.whole.nodes) {
    if (!a.is_late(node.outputs[0]) || a.level[node.outputs[0]] != static_cast<int>(pass)) continue;
    std::vector<Value> operands;
    for (const ValueId input : node.inputs) {
      if (!made.contains(input)) made[input] = builder.input(a.whole.values[input].name, a.whole.type(input));
      operands.push_back(made.at(input));
    }
    const std::vector<Value> results = builder.copy_node(a.whole, node, operands);
    for (size_t k = 0; k < results.size(); ++k) {
      made[node.outputs[k]] = results[k];
      builder.output(a.whole.values[node.outputs[k]].name, results[k]);
    }
  }
  return builder.take();
}

}  // namespace partita
