#include "compiler/plan/cut_blocks.h"

#include <algorithm>

#include "ir/sharding/propagate.h"

namespace partita {
namespace {

constexpr std::string_view kTensor = "--tensor-parallel", kContext = "--context-parallel";

/// Returns the sub-axes of axis `name` of the mesh; none if `size` is 1. Throws InvalidArgument, naming `flag`, if the
/// axis does not have `size` ranks, and if the mesh lacks it.
Axes axis_of_size(const Mesh& mesh, std::string_view flag, const std::string& name, int64_t size) {
  if (size == 1) return {};
  Axes axes = mesh.find(name);
  if (mesh.ways(axes) == size) return axes;
  throw InvalidArgument("[{}] the layout has an axis '{}' of another size, got {}, expected {}", flag, name, size,
                        mesh.ways(axes));
}

/// Checks that `parts` divides `ranks`. Throws InvalidArgument, with the nearest divisors, otherwise.
void require_divisor(std::string_view flag, int64_t parts, int64_t ranks) {
  if (ranks % parts == 0) return;
  int64_t below = std::min(parts, ranks), above = parts;
  while (ranks % below != 0) --below;
  while (above < ranks && ranks % above != 0) ++above;
  throw InvalidArgument("[{}] does not divide the ranks, got {} of {}, expected {}{}", flag, parts, ranks, below,
                        above <= ranks ? fmt::format(" or {}", above) : "");
}

class BlockCutter {
 public:
  BlockCutter(const Graph& graph, const Rules& rules, const Mesh& mesh, const BlockSharding& sharding,
              PartialPlan partial)
      : graph_(graph),
        rules_(rules),
        mesh_(mesh),
        axes_(block_axes(mesh, sharding)),
        flag_(sharding.tensor > 1 ? kTensor : kContext),
        between_(axes_.context),
        partial_(std::move(partial)),
        parts_(graph.values.size(), Part::other),
        is_parameter_(graph.values.size(), false) {
    if (sharding.sequence) between_.insert(between_.end(), axes_.tensor.begin(), axes_.tensor.end());
    for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis) {
      const auto is_in = [&](const Axes& axes) { return std::ranges::find(axes, axis) != axes.end(); };
      if (!is_in(axes_.tensor) && !is_in(axes_.context)) data_.push_back(axis);
    }
    for (const State& state : graph.states) is_parameter_[state.entry] = state.kind == StateKind::parameter;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (rules.op(n).traits.is_conversion) is_parameter_[node.outputs[0]] = is_parameter_[node.inputs[0]];
    }
  }

  PartialPlan run() {
    find_narrow();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].phase == Phase::forward) visit(n);
    }
    if (!is_any_cut_) {
      throw InvalidArgument(
          "[{}] nothing to cut in graph {}, got {} ranks, expected 1: it has no product of a parameter and normalised "
          "rows",
          flag_, graph_.name, mesh_.ways(flag_ == kTensor ? axes_.tensor : axes_.context));
    }
    return std::move(partial_);
  }

 private:
  /// Role of a value: rows [batch, sequence, width], normalised rows, columns of a product, or none of these.
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
      // Cutting the next product alone needs no sum over ranks.
      if (given == Part::normal && is_narrow_[node.outputs[0]]) return enter(n, Part::normal, in_rows(n, between_));
      if (given == Part::normal) return enter(n, Part::columns, with_tensor(n, product->columns));
      return;
    }
    if (const auto table = looked_up_rows(n)) return enter(n, Part::rows, with_tensor(n, *table));
    if (given == Part::columns) return enter(n, Part::columns, like_operands(n));
    if (graph_.type(node.outputs[0]).rank() != 3) return;
    const bool is_normal = given == Part::normal || normalises(n);
    if (given == Part::other && !is_normal) return;
    enter(n, is_normal ? Part::normal : Part::rows, in_rows(n, between_));
  }

  /// Finds the results of products that only further products of parameters read, as in low-rank additions.
  void find_narrow() {
    std::vector<bool> is_read_otherwise(graph_.values.size(), false);
    is_narrow_.assign(graph_.values.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.phase != Phase::forward) continue;
      const bool is_product = product_of(n).has_value();
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_product && i == 0) is_narrow_[node.inputs[i]] = true;
        if (!is_product) is_read_otherwise[node.inputs[i]] = true;
      }
    }
    for (size_t v = 0; v < is_narrow_.size(); ++v) is_narrow_[v] = is_narrow_[v] && !is_read_otherwise[v];
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

  /// The only factor of a dimension; none unless it has exactly one and no window.
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

  /// Returns the factor of the rows of a parameter in which node `n` looks up rows; none if it does not or if its
  /// result does not have 3 dimensions.
  std::optional<int> looked_up_rows(size_t n) const {
    const Node& node = graph_.nodes[n];
    const ShardingRule& rule = rules_[n];
    if (node.inputs.empty() || !is_parameter_[node.inputs[0]] || graph_.type(node.outputs[0]).rank() != 3) return {};
    const auto rows = only_factor(rule.inputs[0].front());
    const bool sums = rows && !rule.factors[*rows].contributes_flops && rule.factors[*rows].reduce == Reduce::sum;
    return sums && !has_factor(rule.outputs[0], *rows) ? rows : std::nullopt;
  }

  /// Whether node `n` normalises rows: each element of its result depends on the whole row along the last dimension.
  /// That dimension can be cut only through OpDef::expand.
  bool normalises(size_t n) const {
    const ShardingRule& rule = rules_[n];
    const auto width = only_factor(rule.outputs[0].back());
    return width && rule.factors[*width].cutting == Cutting::expand;
  }

  /// Returns a cut of node `n` that cuts its result's batch over the data axes and its sequence over `sequence`, where
  /// that is legal. The last data axes are left out if there are too few rows for all of them.
  Cut in_rows(size_t n, const Axes& sequence) const {
    const Shape& shape = graph_.type(graph_.nodes[n].outputs[0]).shape;
    std::vector<Axes> dims(shape.size());
    dims[0] = data_;
    while (mesh_.ways(dims[0]) > shape[0]) dims[0].pop_back();
    dims[1] = sequence;
    return suggest_cut(rules_[n], {{&rules_[n].outputs[0], dims}}, mesh_, /*expandable=*/false);
  }

  Cut with_tensor(size_t n, int factor) const {
    Cut cut = in_rows(n, axes_.context);

    cut[factor] = axes_.tensor;
    require_legal(flag_, graph_.nodes[n].name, rules_[n], cut, mesh_);
    return cut;
  }

  /// Returns a cut of node `n` that follows those of its operands whose nodes have a cut; where they disagree, operands
  /// that are columns of a product decide.
  Cut like_operands(size_t n) const {
    const Node& node = graph_.nodes[n];
    std::vector<Suggestion> columns, others;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId producer = graph_.values[node.inputs[i]].producer;
      if (producer < 0 || !partial_.cuts[producer]) continue;
      const Sharding made =
          output_sharding(rules_[producer], *partial_.cuts[producer], graph_.values[node.inputs[i]].output);
      const TensorMap& map = rules_[n].inputs[i];
      (parts_[node.inputs[i]] == Part::columns ? columns : others).push_back({&map, legal_part(n, map, made.dims)});
    }
    columns.insert(columns.end(), others.begin(), others.end());
    return suggest_cut(rules_[n], columns, mesh_, rules_.expandable(n));
  }

  /// Returns `dims` of an operand of node `n` without the last axes of each dimension that do not let it be cut that
  /// way: there may be fewer heads of keys and values than ranks.
  std::vector<Axes> legal_part(size_t n, const TensorMap& map, std::vector<Axes> dims) const {
    for (size_t d = 0; d < dims.size(); ++d) {
      for (; !dims[d].empty(); dims[d].pop_back()) {
        std::vector<Axes> alone(dims.size());
        alone[d] = dims[d];
        const Cut cut = suggest_cut(rules_[n], {{&map, alone}}, mesh_, rules_.expandable(n));
        if (dims_from_factors(rules_[n], cut, map) == alone) break;
      }
    }
    return dims;
  }

  const Graph& graph_;
  const Rules& rules_;
  const Mesh& mesh_;
  const BlockAxes axes_;
  const std::string_view flag_;
  Axes between_;  // axes that cut the sequence between products
  Axes data_;
  PartialPlan partial_;
  std::vector<Part> parts_;                     // per value
  std::vector<bool> is_parameter_, is_narrow_;  // per value
  bool is_any_cut_ = false;
};

}  // namespace

Mesh block_mesh(int64_t ranks, const BlockSharding& sharding) {
  require_divisor(kTensor, sharding.tensor, ranks);
  require_divisor(kContext, sharding.context, ranks / sharding.tensor);
  std::vector<std::pair<std::string, int64_t>> axes{
      {"data", ranks / sharding.tensor / sharding.context}, {"context", sharding.context}, {"tensor", sharding.tensor}};
  std::erase_if(axes, [](const auto& axis) { return axis.second == 1; });
  return Mesh(axes);
}

BlockAxes block_axes(const Mesh& mesh, const BlockSharding& sharding) {
  return {axis_of_size(mesh, kContext, "context", sharding.context),
          axis_of_size(mesh, kTensor, "tensor", sharding.tensor)};
}

PartialPlan cut_blocks(const Graph& graph, const Rules& rules, const Mesh& mesh, const BlockSharding& sharding,
                       PartialPlan partial) {
  return BlockCutter(graph, rules, mesh, sharding, std::move(partial)).run();
}

}  // namespace partita
