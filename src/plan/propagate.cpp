#include "plan/propagate.h"

namespace partita {
namespace {

class Suggestions {
 public:
  Suggestions(const ShardingRule& rule, const Mesh& mesh, bool expandable)
      : rule_(rule), mesh_(mesh), expandable_(expandable), cut_(rule.factors.size()) {}

  void add(const TensorMap& tensor, const std::vector<Axes>& dims) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].empty()) continue;
      const auto factors = project(rule_, tensor[d], dims[d], mesh_);
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

Cut suggest_cut(const ShardingRule& rule, const std::vector<std::vector<Axes>>& inputs,
                const std::vector<std::vector<Axes>>& outputs, const Mesh& mesh, bool expandable) {
  Suggestions suggestions(rule, mesh, expandable);
  for (size_t i = 0; i < inputs.size(); ++i) suggestions.add(rule.inputs[i], inputs[i]);
  for (size_t k = 0; k < outputs.size(); ++k) suggestions.add(rule.outputs[k], outputs[k]);
  return suggestions.cut();
}

}  // namespace partita
