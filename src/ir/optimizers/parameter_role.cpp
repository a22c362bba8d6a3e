#include "ir/optimizers/parameter_role.h"

#include <algorithm>

namespace partita {
namespace {

/// Follows the uses of one parameter in the forward pass of a graph.
class Uses {
 public:
  explicit Uses(const Builder& builder) : graph_(builder.graph()), ops_(builder.ops()) {}

  bool is_hidden_matrix(ValueId parameter) {
    std::vector<bool> same(graph_.values.size(), false);  // the parameter, moved or converted
    same[static_cast<size_t>(parameter)] = true;
    bool is_used = false;
    std::vector<NodeId> products;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.phase != Phase::forward) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!same[static_cast<size_t>(node.inputs[i])]) continue;
        is_used = true;
        const OpTraits& traits = ops_.at(node.op).traits;
        if (traits.table_rows && i == 0) return false;
        if (is_product(node, i)) products.push_back(static_cast<NodeId>(n));
        if (!traits.moves_elements && !traits.is_conversion) continue;
        for (const ValueId output : node.outputs) same[static_cast<size_t>(output)] = true;
      }
    }
    if (!is_used) return true;
    const std::vector<bool> heads = head_products();
    return !products.empty() && std::ranges::none_of(products, [&](NodeId n) { return heads[static_cast<size_t>(n)]; });
  }

 private:
  bool is_product(const Node& node, size_t operand) const {
    const std::vector<int>& operands = ops_.at(node.op).traits.halves.operands;
    return std::ranges::find(operands, static_cast<int>(operand)) != operands.end();
  }

  /// Returns for each node whether it is a product whose result reaches the loss through no other product.
  std::vector<bool> head_products() const {
    std::vector<bool> heads(graph_.nodes.size(), false), is_needed(graph_.values.size(), false);
    for (const Output& output : graph_.outputs) {
      if (output.name == "loss") is_needed[static_cast<size_t>(output.value)] = true;
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (!any_marked(node.outputs, is_needed)) continue;
      heads[n] = !ops_.at(node.op).traits.halves.operands.empty();
      if (heads[n]) continue;
      for (const ValueId input : node.inputs) is_needed[static_cast<size_t>(input)] = true;
    }
    return heads;
  }

  const Graph& graph_;
  const OpSet& ops_;
};

}  // namespace

bool is_hidden_matrix(const Builder& builder, Value parameter) {
  return parameter.type().rank() >= 2 && Uses(builder).is_hidden_matrix(parameter.id());
}

}  // namespace partita
