#include "compiler/autodiff/roundings.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/autodiff/residual_stream.h"
#include "ir/graph/layer_path.h"

namespace partita {
namespace {

constexpr std::string_view kLossScope = "loss";

/// Whether `scope` is `layer` or lies in it.
bool is_within(std::string_view scope, std::string_view layer) {
  return scope.starts_with(layer) && (scope.size() == layer.size() || scope[layer.size()] == '/');
}

/// Returns the innermost scope in which all products of the forward pass lie; "" if they share none or there are none.
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

std::string print(const LayerPrecision& layer) { return fmt::format("{}={}", layer.layers, name_of(layer.precision)); }

auto parts_of(const LayerPrecision& layer) { return std::ranges::count(layer.layers, '/'); }

}  // namespace

Roundings::Roundings(const Graph& graph, const OpSet& ops, const PrecisionOptions& options)
    : graph_(graph), ops_(ops), options_(options), products_(scope_of_products(graph, ops)) {
  // An evaluation lacks layers that only a training has, such as dropout.
  const bool is_training =
      std::ranges::any_of(graph.nodes, [](const Node& node) { return node.phase == Phase::backward; });
  if (is_training) require_layers();
  find_precisions();
  if (is_training) require_effects();
  find_rounded();
}

bool Roundings::is_loss(std::string_view scope) const {
  if (!is_within(scope, kLossScope)) return false;
  return products_ == kLossScope || !is_within(products_, kLossScope) || !is_within(scope, products_);
}

void Roundings::require_layers() const {
  std::set<std::string> scopes, paths;
  for (const Node& node : graph_.nodes) {
    if (node.phase != Phase::forward || is_loss(node.scope)) continue;
    if (!node.scope.empty()) scopes.insert(node.scope);
    paths.insert(path_of_node(node));
  }
  for (const LayerPrecision& layer : options_.layers) {
    if (!layer.is_required) continue;
    const auto is_in_layer = [&](const std::string& path) { return matches_layer(layer.layers, path); };
    if (std::ranges::any_of(paths, is_in_layer)) continue;
    throw unknown_name("[--precision-of] unknown layer", layer.layers,
                       fmt::format("one of the {} scopes of graph {}", scopes.size(), graph_.name),
                       {scopes.begin(), scopes.end()});
  }
}

/// Returns the path or scope with the most parts among those that name the nodes of `scope` at `path`, or null. Throws
/// InvalidArgument if two of them have different precisions.
const LayerPrecision* Roundings::layer_at(const std::string& path, std::string_view scope) const {
  const LayerPrecision* chosen = nullptr;
  for (const LayerPrecision& layer : options_.layers) {
    if (layer.is_required ? !matches_layer(layer.layers, path) : !is_within(scope, layer.layers)) continue;
    if (chosen != nullptr && parts_of(layer) == parts_of(*chosen) && layer.precision != chosen->precision) {
      throw InvalidArgument("[--precision-of] a layer has two precisions, got '{}' and '{}' for {}, expected one",
                            print(*chosen), print(layer), path);
    }
    if (chosen == nullptr || parts_of(layer) > parts_of(*chosen)) chosen = &layer;
  }
  return chosen;
}

/// Sets `precisions_` and `layers_`. A gradient node has the precision of its forward node.
void Roundings::find_precisions() {
  struct Chosen {
    MixedPrecision precision = MixedPrecision::f32;
    const LayerPrecision* layer = nullptr;
  };
  std::unordered_map<std::string, Chosen> of_paths, of_nodes;
  for (const Node& node : graph_.nodes) {
    Chosen chosen;
    if (node.phase != Phase::update && !is_loss(node.scope)) {
      const auto origin = of_nodes.find(node.origin);
      const std::string path = path_of_node(node), place = path + '\n' + node.scope;
      if (origin != of_nodes.end()) {
        chosen = origin->second;
      } else if (const auto known = of_paths.find(place); known != of_paths.end()) {
        chosen = known->second;
      } else {
        const LayerPrecision* layer = layer_at(path, node.scope);
        chosen = of_paths[place] = {layer == nullptr ? options_.precision : layer->precision, layer};
      }
    }
    precisions_.push_back(chosen.precision);
    layers_.push_back(chosen.layer);
    if (node.phase == Phase::forward) of_nodes.emplace(node.name, chosen);
  }
}

/// Checks that each path that counts for some nodes can decide a rounding of one of them. A path all of whose nodes
/// others with more parts name is accepted. Throws InvalidArgument if one cannot.
void Roundings::require_effects() const {
  if (options_.layers.empty()) return;
  const std::vector<bool> follows = following_values();
  std::set<const LayerPrecision*> idle, effective;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const LayerPrecision* layer = layers_[n];
    if (layer == nullptr || !layer->is_required) continue;
    const Node& node = graph_.nodes[n];
    const Halves& halves = ops_.at(node.op).traits.halves;
    const bool has_half = any_marked(node.inputs, follows);
    (halves.operands.empty() && !(halves.follow && has_half) ? idle : effective).insert(layer);
  }
  for (const LayerPrecision& layer : options_.layers) {
    if (!idle.contains(&layer) || effective.contains(&layer)) continue;
    throw InvalidArgument(
        "[--precision-of] has no effect, got {}, a layer without products that no value of 16 bits enters, expected a "
        "layer with products",
        print(layer));
  }
}

std::optional<DType> Roundings::half_of(const Node& node) const {
  switch (precisions_[static_cast<size_t>(&node - graph_.nodes.data())]) {
    case MixedPrecision::f32: return std::nullopt;
    case MixedPrecision::bf16: return DType::bf16;
    case MixedPrecision::f16: return DType::f16;
  }
  return std::nullopt;
}

Halves Roundings::halves_of(const Node& node) const {
  return half_of(node) ? ops_.at(node.op).traits.halves : Halves{};
}

bool Roundings::can_round(ValueId value) const {
  const DType dtype = graph_.type(value).dtype;
  return dtype == DType::f32 || dtype == DType::f64;
}

/// Returns, per value, whether it is stored in a state, or is made by the backward pass and is an output of the graph
/// or used outside of the backward pass, such as by an update, or by a sum or movement in the backward pass that makes
/// such a value.
std::vector<bool> Roundings::wide_values() const {
  std::vector<bool> is_wide(graph_.values.size(), false);
  for (const State& state : graph_.states) {
    if (state.exit >= 0) is_wide[state.exit] = true;
  }
  const auto is_gradient = [&](ValueId value) {
    const NodeId producer = graph_.values[value].producer;
    return producer >= 0 && graph_.nodes[producer].phase == Phase::backward;
  };
  for (const Output& output : graph_.outputs) {
    if (is_gradient(output.value)) is_wide[output.value] = true;
  }
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    const Node& node = graph_.nodes[n];
    const bool leads =
        node.phase == Phase::backward && ops_.at(node.op).traits.halves.follow && any_marked(node.outputs, is_wide);
    if (node.phase == Phase::backward && !leads) continue;
    for (const ValueId input : node.inputs) {
      if (is_gradient(input)) is_wide[input] = true;
    }
  }
  return is_wide;
}

/// Returns, per value, whether it is the result of a product in a layer of 16 bits or follows from one, and may be
/// rounded.
std::vector<bool> Roundings::following_values() const {
  const std::vector<bool> is_wide = wide_values();
  std::vector<bool> follows(graph_.values.size(), false);
  for (const Node& node : graph_.nodes) {
    const Halves halves = halves_of(node);
    const bool has_half = any_marked(node.inputs, follows);
    if (halves.follow && !has_half) continue;
    for (size_t k = 0; k < node.outputs.size() && k < static_cast<size_t>(halves.results); ++k) {
      follows[node.outputs[k]] = can_round(node.outputs[k]) && !is_wide[node.outputs[k]];
    }
  }
  return follows;
}

/// Clears `goes_on` for results of products, and of sums of products, whose digits meet those of another in a node. No
/// kernel computes both and the node, so one at least would be stored with all digits. In a sum they may meet: a
/// product accumulates into it, and parts of it are reduced once.
void Roundings::round_where_products_meet(std::vector<bool>& goes_on) const {
  std::vector<ValueId> product_of(graph_.values.size(), -1);  // per value: the product or sum whose digits it has
  const auto phase_of = [&](ValueId value) { return graph_.nodes[graph_.values[value].producer].phase; };
  for (const Node& node : graph_.nodes) {
    std::set<ValueId> products;
    for (const ValueId input : node.inputs) {
      // Whether a value of the forward pass is rounded does not depend on its users in other phases.
      if (goes_on[input] && product_of[input] >= 0 && phase_of(input) == node.phase) products.insert(product_of[input]);
    }
    const OpTraits& traits = ops_.at(node.op).traits;
    const bool meet = products.size() > 1;
    for (const ValueId product : products) goes_on[product] = goes_on[product] && (!meet || traits.is_sum);
    for (const ValueId output : node.outputs) {
      if (!traits.halves.follow || (meet && traits.is_sum)) product_of[output] = output;
      if (traits.halves.follow && products.size() == 1) product_of[output] = *products.begin();
    }
  }
}

/// Sets `is_rounded_` and `is_copied_`. A value that one node alone of the same phase and precision uses, which follows
/// its operands, keeps its digits until that node has computed, as in a kernel that computes both. Users after the
/// forward pass do not count for a value of the forward pass, nor do outputs of the graph.
void Roundings::find_rounded() {
  const std::vector<bool> follows = following_values();
  const auto is_outside = [&](const Node& node) { return node.phase == Phase::update || is_loss(node.scope); };
  const std::vector<bool> is_exact = options_.residual == Residual::f32 ? residual_stream(graph_, ops_, is_outside)
                                                                        : std::vector<bool>(follows.size(), false);
  const std::vector<std::vector<NodeId>> users = graph_.users();
  std::vector<bool> goes_on(follows.size(), false);
  std::vector<size_t> near(follows.size(), 0);  // number of users that count
  for (size_t v = 0; v < follows.size(); ++v) {
    if (!follows[v] || is_exact[v]) continue;
    const Node& node = graph_.nodes[graph_.values[v].producer];
    const Node* next = nullptr;
    for (const NodeId user : users[v]) {
      if (node.phase == Phase::forward && graph_.nodes[user].phase != Phase::forward) continue;
      next = &graph_.nodes[user];
      ++near[v];
    }
    goes_on[v] = near[v] == 1 && next->phase == node.phase && half_of(*next) == half_of(node) &&
                 halves_of(*next).follow && follows[next->outputs[0]];
  }
  round_where_products_meet(goes_on);
  is_rounded_.resize(follows.size(), false);
  is_copied_.resize(follows.size(), false);
  for (size_t v = 0; v < follows.size(); ++v) {
    if (!follows[v] || is_exact[v]) continue;
    is_rounded_[v] = !goes_on[v];
    is_copied_[v] = goes_on[v] && near[v] < users[v].size();
  }
}

}  // namespace partita
