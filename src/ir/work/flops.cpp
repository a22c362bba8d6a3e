#include "ir/work/flops.h"

namespace partita {
namespace {

constexpr double kMinWork = 1;

}  // namespace

double flops_of(const Rules& rules, size_t node) {
  return flops_of(rules, node, Cut(rules[node].factors.size()), Mesh());
}

double flops_of(const Rules& rules, size_t node, const Cut& cut, const Mesh& mesh) {
  double points = 1;
  for (size_t f = 0; f < rules[node].factors.size(); ++f) {
    const Factor& factor = rules[node].factors[f];
    if (factor.contributes_flops) points *= static_cast<double>(factor.size) / static_cast<double>(mesh.ways(cut[f]));
  }
  return kMinWork + rules.op(node).flops_per_point * points;
}

}  // namespace partita
