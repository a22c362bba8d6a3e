#include "compiler/autodiff/mixed_precision.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "ir/graph/rewrite.h"
#include "ir/ops/elementwise/attrs.h"

namespace partita {
namespace {

constexpr std::string_view kLossScope = "loss";

/// Whether `scope` is `layer` or lies in it.
bool is_within(std::string_view scope, std::string_view layer) {
  return scope.starts_with(layer) && (scope.size() == layer.size() || scope[layer.size()] == '/');
}

/// Checks that a forward node outside of the loss lies in each of the layers that are required. Throws InvalidArgument,
/// with the nearest scope, if not.
void require_layers(const Graph& graph, const std::vector<LayerPrecision>& layers) {
  std::set<std::string> scopes;
  for (const Node& node : graph.nodes) {
    if (node.phase == Phase::forward && !node.scope.empty() && node.scope != kLossScope) scopes.insert(node.scope);
  }
  for (const auto& [layer, precision, is_required] : layers) {
    if (!is_required) continue;
    const auto is_in_layer = [&, &layer = layer](const std::string& scope) { return is_within(scope, layer); };
    if (std::any_of(scopes.begin(), scopes.end(), is_in_layer)) continue;
    throw InvalidArgument(
        fmt::format("[--precision-of] unknown layer, got '{}', expected one of the {} scopes of graph {}{}", layer,
                    scopes.size(), graph.name, did_you_mean(layer, {scopes.begin(), scopes.end()})),
        ErrorKind::key);
  }
}

/// Returns the innermost scope in which all products of the forward lie; "" if they share none or there are none.
std::string scope_of_products(const Graph& graph, const OpSet& ops) {
  std::optional<std::string> common;
  for (const Node& node : graph.nodes) {
    if (node.phase != Phase::forward || ops.at(node.op).traits.halves.operands.empty()) continue;
    if (!common) common = node.scope;
    while (!common->empty() && !is_within(node.scope, *common)) {
      const size_t slash = common->rfind('/');
      common->resize(slash == std::string::npos ? 0 : slash);
    }
  }
  return common.value_or("");
}

class Mixer {
 public:
  Mixer(const Graph& from, const OpSet& ops, const PrecisionOptions& options)
      : from_(from),
        ops_(ops),
        options_(options),
        products_(scope_of_products(from, ops)),
        rewrite_(from, ops),
        is_half_(from.values.size(), false),
        half_types_(from.values.size(), DType::f32),
        is_open_(from.values.size(), false) {
    find_wide();
    find_users();
  }

  Graph run() {
    for (const Node& node : from_.nodes) visit(node);
    for (const Output& output : from_.outputs) {
      if (!is_half_[output.value]) continue;
      enter(from_.nodes[from_.values[output.value].producer]);
      rewrite_.set(output.value, full(output.value));
    }
    return rewrite_.finish();
  }

 private:
  bool can_round(ValueId value) const {
    const DType dtype = from_.type(value).dtype;
    return dtype == DType::f32 || dtype == DType::f64;
  }

  /// Whether a scope belongs to the loss. A network that gives its loss itself lies in the scope of the loss, too:
  /// there the scope of all products does not belong to the loss.
  bool is_loss(std::string_view scope) const {
    if (!is_within(scope, kLossScope)) return false;
    return products_ == kLossScope || !is_within(products_, kLossScope) || !is_within(scope, products_);
  }

  /// Returns the precision of the innermost layer of `options_.layers` that contains the scope, or of all layers.
  MixedPrecision precision_at(std::string_view scope) const {
    const LayerPrecision* innermost = nullptr;
    for (const LayerPrecision& one : options_.layers) {
      if (!is_within(scope, one.layers)) continue;
      if (innermost == nullptr || one.layers.size() >= innermost->layers.size()) innermost = &one;
    }
    return innermost != nullptr ? innermost->precision : options_.precision;
  }

  /// Returns which operands and results of the node are rounded (`OpTraits::halves`): none in updates, in the loss and
  /// in layers that keep their precision.
  Halves halves_of(const Node& node) const {
    if (node.phase == Phase::update || is_loss(node.scope)) return {};
    if (precision_at(node.scope) == MixedPrecision::f32) return {};
    return ops_.at(node.op).traits.halves;
  }

  /// Sets `is_wide_`: whether a value is stored in a state, or is made by the backward and is an output of the graph or
  /// used outside of the backward, such as by an update, or by a sum or movement in the backward that makes such a
  /// value.
  void find_wide() {
    is_wide_.resize(from_.values.size(), false);
    for (const State& state : from_.states) {
      if (state.exit >= 0) is_wide_[state.exit] = true;
    }
    for (const Output& output : from_.outputs) {
      const NodeId producer = from_.values[output.value].producer;
      if (producer >= 0 && from_.nodes[producer].phase == Phase::backward) is_wide_[output.value] = true;
    }
    for (size_t n = from_.nodes.size(); n-- > 0;) {
      const Node& node = from_.nodes[n];
      const bool leads = node.phase == Phase::backward && halves_of(node).follow &&
                         std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return is_wide_[v]; });
      if (node.phase == Phase::backward && !leads) continue;
      for (const ValueId input : node.inputs) {
        const NodeId producer = from_.values[input].producer;
        if (producer >= 0 && from_.nodes[producer].phase == Phase::backward) is_wide_[input] = true;
      }
    }
  }

  /// Sets `user_`: the only node that uses a value; -1 if none or several do, or if it is an output of the graph.
  void find_users() {
    for (const std::vector<NodeId>& users : from_.users()) user_.push_back(users.size() == 1 ? users[0] : -1);
    for (const Output& output : from_.outputs) user_[output.value] = -1;
  }

  /// Whether a result of `node` goes to one node alone, of the same phase, which rounds its own result in turn. It is
  /// not kept, so it keeps its digits until then, as in a kernel that computes both.
  bool goes_on(const Node& node, ValueId result) const {
    if (user_[result] < 0) return false;
    const Node& user = from_.nodes[user_[result]];
    return user.phase == node.phase && halves_of(user).follow && !is_wide_[user.outputs[0]];
  }

  /// Gives the nodes that are added next the place of `node`.
  void enter(const Node& node) {
    Builder& builder = rewrite_.builder();
    builder.scope = node.scope;
    builder.source = node.source;
    builder.phase = node.phase;
    builder.stage = node.stage;
    builder.recompute = node.recompute;
    builder.origin.clear();
  }

  /// Adds a node that rounds `value` to 16 bits. Returns its result, which is f64 if `value` is, else has the 16-bit
  /// type.
  Value rounded(Value value) {
    Builder& builder = rewrite_.builder();
    if (value.dtype() == DType::f64) return builder.apply("round", {value}, Attrs(RoundAttrs{dtype_}));
    return builder.apply("cast", {value}, Attrs(CastAttrs{dtype_}));
  }

  /// Returns `made` in type `own`: itself if it has it, else a cast.
  Value widened(Value made, DType own) {
    return made.dtype() == own ? made : rewrite_.builder().apply("cast", {made}, Attrs(CastAttrs{own}));
  }

  /// Returns the value in its own type. The cast from 16 bits is made anew for each user, since it is not kept.
  Value full(ValueId value) { return widened(rewrite_[value], from_.type(value).dtype); }

  /// Returns the value with the digits of 16 bits, in its own type. A forward node and its gradients share the rounding
  /// of an operand.
  Value half(ValueId value, const Node& node) {
    if (is_half_[value] && half_types_[value] == dtype_) return full(value);
    Value& shared = shared_[node.origin.empty() ? node.name : node.origin][value];
    if (!shared) shared = rounded(full(value));
    return widened(shared, from_.type(value).dtype);
  }

  void visit(const Node& node) {
    enter(node);
    dtype_ = precision_at(node.scope) == MixedPrecision::bf16 ? DType::bf16 : DType::f16;
    const Halves halves = halves_of(node);
    std::vector<Value> operands;
    bool has_half = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const auto& listed = halves.operands;
      const bool rounds = std::find(listed.begin(), listed.end(), static_cast<int>(i)) != listed.end();
      operands.push_back(rounds && can_round(input) ? half(input, node) : full(input));
      has_half = has_half || is_half_[input] || is_open_[input];
    }
    std::vector<Value> results = rewrite_.builder().copy_node(from_, node, operands);
    for (size_t k = 0; k < results.size() && k < static_cast<size_t>(halves.results); ++k) {
      const ValueId output = node.outputs[k];
      if (!can_round(output) || is_wide_[output] || (halves.follow && !has_half)) continue;
      is_open_[output] = goes_on(node, output);
      if (is_open_[output]) continue;
      results[k] = rounded(results[k]);
      is_half_[output] = true;
      half_types_[output] = dtype_;
    }
    rewrite_.set(node, results);
  }

  const Graph& from_;
  const OpSet& ops_;
  const PrecisionOptions& options_;
  DType dtype_ = DType::bf16;   // 16-bit type of the node that is visited
  const std::string products_;  // innermost scope of all products
  Rewrite rewrite_;
  std::vector<bool> is_half_, is_wide_;  // per value: kept in 16 bits; never rounded
  std::vector<DType> half_types_;        // per value that is kept in 16 bits
  std::vector<bool> is_open_;            // per value: goes to a node that rounds what follows from it
  std::vector<NodeId> user_;
  std::unordered_map<std::string, std::unordered_map<ValueId, Value>> shared_;  // by forward node
};

}  // namespace

Graph mixed_precision(Graph graph, const OpSet& ops, const PrecisionOptions& options) {
  const auto has_half = [](const LayerPrecision& one) { return one.precision != MixedPrecision::f32; };
  if (options.precision == MixedPrecision::f32 &&
      std::none_of(options.layers.begin(), options.layers.end(), has_half)) {
    return graph;
  }
  // An evaluation lacks layers that only a training has, such as dropout.
  const auto is_backward = [](const Node& node) { return node.phase == Phase::backward; };
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), is_backward)) require_layers(graph, options.layers);
  return remove_dead_nodes(Mixer(graph, ops, options).run());
}

}  // namespace partita
