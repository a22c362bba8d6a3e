#include "ir/work/node_work.h"

#include "ir/sharding/move.h"
#include "ir/work/flops.h"

namespace partita {
namespace {

constexpr double kComputeBound = 2;  // points of the iteration space per element above which a node counts as a product

bool has_window_anywhere(const ShardingRule& rule) {
  for (int f = 0; f < static_cast<int>(rule.factors.size()); ++f) {
    if (has_window(rule, f)) return true;
  }
  return false;
}

/// Whether a node looks up rows: a factor is summed over but contributes no FLOPs.
bool looks_up(const ShardingRule& rule) {
  return std::ranges::any_of(
      rule.factors, [](const Factor& factor) { return !factor.contributes_flops && factor.reduce == Reduce::sum; });
}

bool reduces_factors(const ShardingRule& rule) {
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (!has_factor(rule.outputs[0], static_cast<int>(f)) && rule.factors[f].size > 1) return true;
  }
  return false;
}

WorkKind kind_of(const ShardingRule& rule, double flops_per_point, double points, double elements) {
  const bool is_product = points > kComputeBound * elements;
  if (is_product && has_window_anywhere(rule)) return WorkKind::convolution;
  if (is_product) return rule.inputs.size() > 2 ? WorkKind::attention : WorkKind::product;
  if (looks_up(rule)) return WorkKind::lookup;
  if (flops_per_point == 0) return WorkKind::copy;
  if (std::ranges::any_of(rule.factors, [](const Factor& factor) { return factor.cutting == Cutting::expand; })) {
    return WorkKind::normalisation;
  }
  return reduces_factors(rule) ? WorkKind::reduction : WorkKind::pointwise;
}

double Work::*product_size(const ShardingRule& rule, int factor) {
  const bool in_first = has_factor(rule.inputs[0], factor), in_second = has_factor(rule.inputs[1], factor);
  if (!has_factor(rule.outputs[0], factor)) return &Work::depth;
  if (in_first && in_second) return &Work::batch;
  return in_first ? &Work::rows : &Work::columns;
}

/// Returns the size of attention that a factor contributes to. Rows are only in the queries, columns not in the
/// queries; the depth, the width of a head, is in queries and keys and not in the values; a factor of all three is the
/// batch.
double Work::*attention_size(const ShardingRule& rule, int factor) {
  const bool in_queries = has_factor(rule.inputs[0], factor), in_keys = has_factor(rule.inputs[1], factor);
  if (!in_queries) return &Work::columns;
  if (!in_keys) return &Work::rows;
  return has_factor(rule.inputs[2], factor) ? &Work::batch : &Work::depth;
}

/// Returns the size of a convolution that a factor contributes to: `batch` for the images, the first dimension of the
/// first operand, which are computed one by one; else `depth` if the result lacks it, `batch` if images and filters
/// have it, `rows` if only the images do, `columns` if only the filters do.
double Work::*convolution_size(const ShardingRule& rule, int factor) {
  const TensorMap& images = rule.inputs[0];
  const bool is_first = !images.empty() && has_factor(TensorMap{images[0]}, factor);
  return is_first ? &Work::batch : product_size(rule, factor);
}

}  // namespace

double Work::*size_of_factor(WorkKind kind, const ShardingRule& rule, int factor) {
  switch (kind) {
    case WorkKind::attention: return attention_size(rule, factor);
    case WorkKind::convolution: return convolution_size(rule, factor);
    default: return product_size(rule, factor);
  }
}

bool has_product_sizes(WorkKind kind, const ShardingRule& rule) {
  const bool is_product = kind == WorkKind::product || kind == WorkKind::attention || kind == WorkKind::convolution;
  return is_product && rule.inputs.size() > 1;  // a pool has a window but no filters
}

Work work_of(const Graph& graph, const Rules& rules, size_t n, const Cut& cut, const std::vector<Sharding>& shardings,
             const Mesh& mesh) {
  const Node& node = graph.nodes[n];
  const ShardingRule& rule = rules[n];
  double elements = 0, points = 1;
  Work work{.dtype = graph.type(node.outputs[0]).dtype, .op = node.op};
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) {
      elements += static_cast<double>(graph.type(value).elements());
      work.bytes += local_bytes(graph.type(value), shardings[value].dims, mesh);
    }
  }
  for (const Factor& factor : rule.factors) {
    if (factor.contributes_flops) points *= static_cast<double>(factor.size);
  }
  work.kind = kind_of(rule, rules.op(n).flops_per_point, points, elements);
  work.flops = rules.op(n).flops_per_point > 0 ? flops_of(rules, n, cut, mesh) : 0;
  if (!has_product_sizes(work.kind, rule)) return work;
  work.rows = work.columns = work.depth = 1;
  for (int f = 0; f < static_cast<int>(rule.factors.size()); ++f) {
    if (work.kind == WorkKind::attention && !rule.factors[f].contributes_flops) continue;  // the width of values
    work.*size_of_factor(work.kind, rule, f) *=
        static_cast<double>(rule.factors[f].size) / static_cast<double>(mesh.ways(cut[f]));
  }
  return work;
}

}  // namespace partita
