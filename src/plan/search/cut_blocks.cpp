#include "plan/search/cut_blocks.h"

#include <algorithm>

#include "sharding/propagate.h"

namespace partita {
namespace {

constexpr std::string_view kFlag = "--tensor-parallel";

class BlockCutter {
 public:
  BlockCutter(const Graph& graph, const Rules& rules, const Mesh& mesh, const BlockSharding& sharding,
              PartialPlan partial)
      : graph_(graph),
        rules_(rules),
        mesh_(mesh),
        sharding_(sharding),
        tensor_(mesh.find("tensor")),
        partial_(std::move(partial)),
        parts_(graph.values.size(), Part::other),
        is_parameter_(graph.values.size(), false) {
    if (mesh.ways(tensor_) != sharding.tensor) {
      throw InvalidArgument(fmt::format("[{}] the layout has an axis 'tensor' of another size, got {}, expected {}",
                                        kFlag, sharding.tensor, mesh.ways(tensor_)));
    }
    for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis) {
      if (std::find(tensor_.begin(), tensor_.end(), axis) == tensor_.end()) data_.push_back(axis);
    }
    for (const State& state : graph.states) is_parameter_[state.entry] = state.kind == StateKind::parameter;
  }

  PartialPlan run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].phase == Phase::forward) visit(n);
    }
    if (!is_any_cut_) {
      throw InvalidArgument(
          fmt::format("[{}] nothing to cut in graph {}, got {}, expected 1: it has no product of a parameter and "
                      "normalised rows",
                      kFlag, graph_.name, sharding_.tensor));
    }
    return std::move(partial_);
  }

 private:
  /// What a value is: normalised rows [batch, sequence, width] or others, columns of a product, or none of these.
  enum class Part { other, rows, normal, columns };

  /// The factors of y[.., columns] = sum of x[.., inner] w[inner, columns].
  struct Product {
    int inner, columns;
  };

  void visit(size_t n) {
    const Node& node = graph_.nodes[n];
    const Part given = part_of_operands(node);
    if (const auto product = product_of(n)) {
      if (given == Part::columns) return enter(n, Part::rows, with_tensor(n, product->inner));
      if (given == Part::normal) return enter(n, Part::columns, with_tensor(n, product->columns));
      return;
    }
    if (const auto table = looked_up_rows(n)) return enter(n, Part::rows, with_tensor(n, *table));
    if (given == Part::columns) return enter(n, Part::columns, like_operands(n));
    if (given == Part::other || graph_.type(node.outputs[0]).rank() != 3) return;
    const bool is_normal = given == Part::normal || normalises(n);
    enter(n, is_normal ? Part::normal : Part::rows, in_rows(n, sharding_.sequence));
  }

  Part part_of_operands(const Node& node) const {
    Part part = Part::other;
    for (ValueId input : node.inputs) part = std::max(part, parts_[input]);
    return part;
  }

  void enter(size_t n, Part part, Cut cut) {
    for (ValueId output : graph_.nodes[n].outputs) parts_[output] = part;
    is_any_cut_ = is_any_cut_ || part == Part::columns;
    if (!partial_.cuts[n]) partial_.cuts[n] = std::move(cut);
  }

  /// The factor that a dimension consists of.
  static std::optional<int> only_factor(const DimMap& dim) {
    if (dim.factors.size() != 1 || dim.window) return std::nullopt;
    return dim.factors[0];
  }

  std::optional<Product> product_of(size_t n) const {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    if (node.inputs.size() != 2 || !is_parameter_[node.inputs[1]] || node.outputs.size() != 1) return std::nullopt;
    if (rule.inputs[0].empty() || rule.outputs[0].empty()) return std::nullopt;
    const auto inner = only_factor(rule.inputs[0].back()), columns = only_factor(rule.outputs[0].back());
    if (!inner || !columns || !rule.factors[*inner].contributes_flops) return std::nullopt;
    if (has_factor(rule.outputs[0], *inner) || has_factor(rule.inputs[0], *columns)) return std::nullopt;
    if (!has_factor(rule.inputs[1], *inner) || !has_factor(rule.inputs[1], *columns)) return std::nullopt;
    return Product{*inner, *columns};
  }

  /// The factor of the rows of a table, of which a node looks some up.
  std::optional<int> looked_up_rows(size_t n) const {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    if (node.inputs.empty() || !is_parameter_[node.inputs[0]] || graph_.type(node.outputs[0]).rank() != 3) return {};
    const auto rows = only_factor(rule.inputs[0].front());
    const bool sums = rows && !rule.factors[*rows].contributes_flops && rule.factors[*rows].reduce == Reduce::sum;
    return sums && !has_factor(rule.outputs[0], *rows) ? rows : std::nullopt;
  }

  /// Whether each row of the result depends on all of that row: its factor is cut through an expansion alone.
  bool normalises(size_t n) const {
    const ShardingRule& rule = rules_[n];
    const auto width = only_factor(rule.outputs[0].back());
    return width && rule.factors[*width].cutting == Cutting::expand;
  }

  /// The result's batch over the other axes, its sequence over `tensor` or not.
  Cut in_rows(size_t n, bool sequence) const {
    const Shape& shape = graph_.type(graph_.nodes[n].outputs[0]).shape;
    std::vector<Axes> dims(shape.size());
    dims[0] = data_;
    while (mesh_.ways(dims[0]) > shape[0]) dims[0].pop_back();
    if (sequence) dims[1] = tensor_;
    return suggest_cut(rules_[n], {{&rules_[n].outputs[0], dims}}, mesh_, /*expandable=*/false);
  }

  Cut with_tensor(size_t n, int factor) const {
    Cut cut = in_rows(n, /*sequence=*/false);
    cut[factor] = tensor_;
    require_legal(kFlag, graph_.nodes[n].name, rules_[n], cut, mesh_);
    return cut;
  }

  /// As its operands are made: those that are columns first.
  Cut like_operands(size_t n) const {
    const Node& node = graph_.nodes[n];
    std::vector<Suggestion> columns, others;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId producer = graph_.values[node.inputs[i]].producer;
      if (producer < 0 || !partial_.cuts[producer]) continue;
      const Sharding made =
          output_sharding(rules_[producer], *partial_.cuts[producer], graph_.values[node.inputs[i]].output);
      (parts_[node.inputs[i]] == Part::columns ? columns : others).push_back({&rules_[n].inputs[i], made.dims});
    }
    columns.insert(columns.end(), others.begin(), others.end());
    return suggest_cut(rules_[n], columns, mesh_, rules_.expandable(n));
  }

  const Graph& graph_;
  const Rules& rules_;
  const Mesh& mesh_;
  const BlockSharding sharding_;
  const Axes tensor_;
  Axes data_;
  PartialPlan partial_;
  std::vector<Part> parts_;         // per value
  std::vector<bool> is_parameter_;  // per value
  bool is_any_cut_ = false;
};

}  // namespace

Mesh block_mesh(int64_t ranks, const BlockSharding& sharding) {
  if (ranks % sharding.tensor != 0) {
    int64_t below = sharding.tensor, above = sharding.tensor;
    while (ranks % below != 0) --below;
    while (above < ranks && ranks % above != 0) ++above;
    throw InvalidArgument(fmt::format("[{}] does not divide the ranks, got {} of {}, expected {}{}", kFlag,
                                      sharding.tensor, ranks, below,
                                      above <= ranks ? fmt::format(" or {}", above) : ""));
  }
  if (ranks == sharding.tensor) return Mesh({{"tensor", sharding.tensor}});
  return Mesh({{"data", ranks / sharding.tensor}, {"tensor", sharding.tensor}});
}

PartialPlan cut_blocks(const Graph& graph, const Rules& rules, const Mesh& mesh, const BlockSharding& sharding,
                       PartialPlan partial) {
  return BlockCutter(graph, rules, mesh, sharding, std::move(partial)).run();
}

}  // namespace partita
