#include "ir/sharding/propagate.h"

#include <algorithm>

namespace partita {
namespace {

class Suggestions {
 public:
  Suggestions(const ShardingRule& rule, const Mesh& mesh, bool expandable)
      : rule_(rule), mesh_(mesh), expandable_(expandable), cut_(rule.factors.size()) {}

  void add(const TensorMap& tensor, const std::vector<Axes>& dims) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].empty()) continue;
      const auto factors = factors_from_dims(rule_, tensor[d], dims[d], mesh_);
      if (factors) add(*factors);
    }
  }

  const Cut& cut() const { return cut_; }

 private:
  void add(const std::vector<std::pair<int, Axes>>& factors) {
    Cut changed = cut_;
    for (const auto& [factor, axes] : factors) {
      const bool expands = rule_.factors[factor].cutting == Cutting::expand;
      if (!changed[factor].empty() || (expands && !expandable_)) return;
      changed[factor] = axes;
    }
    if (illegal(rule_, changed, mesh_).empty()) cut_ = std::move(changed);
  }

  const ShardingRule& rule_;
  const Mesh& mesh_;
  bool expandable_;
  Cut cut_;
};

}  // namespace

Cut suggest_cut(const ShardingRule& rule, const std::vector<Suggestion>& suggestions, const Mesh& mesh,
                bool expandable) {
  Suggestions together(rule, mesh, expandable);
  for (const auto& [tensor, dims] : suggestions) together.add(*tensor, dims);
  return together.cut();
}

Sharding propagate_partial(const ShardingRule& rule, const Cut& cut, const std::vector<Sharding>& operands) {
  std::vector<int> partial;
  const Sharding* first = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Sharding& sharding = operands[i];
    if (sharding.partial.empty()) continue;
    if (first && (first->partial != sharding.partial || first->kind != sharding.kind)) return {};
    if (sharding.dims != dims_from_factors(rule, cut, rule.inputs[i])) return {};
    first = &sharding;
    partial.push_back(static_cast<int>(i));
  }
  if (!first) return {};
  for (const Axes& axes : cut) {
    for (int axis : axes) {
      if (std::ranges::find(first->partial, axis) != first->partial.end()) return {};
    }
  }
  for (size_t k = 0; k < rule.outputs.size(); ++k) {
    const Sharding own = output_sharding(rule, cut, static_cast<int>(k));
    if (!own.partial.empty() && own.kind != first->kind) return {};
  }
  const bool declared = std::ranges::any_of(rule.linear, [&](const Linear& group) {
    std::vector<int> members = group.operands;
    std::ranges::sort(members);
    return members == partial && group.kinds.has(first->kind);
  });
  return declared ? Sharding{.dims = {}, .kind = first->kind, .partial = first->partial} : Sharding{};
}

Sharding result_sharding(const ShardingRule& rule, const Cut& cut, const Sharding& passed, int k) {
  Sharding sharding = output_sharding(rule, cut, k);
  if (passed.partial.empty()) return sharding;
  sharding.kind = passed.kind;
  sharding.partial.insert(sharding.partial.end(), passed.partial.begin(), passed.partial.end());
  std::ranges::sort(sharding.partial);
  return sharding;
}

}  // namespace partita
