#include "compiler/search/cut_score.h"

#include <algorithm>

#include "ir/sharding/propagate.h"
#include "ir/sharding/strategy.h"

namespace partita {
namespace {

constexpr double kComputeBound = 2;  // points of the iteration space per element, above which work outweighs traffic

/// Iteration-space size of a node on one rank; only factors that contribute FLOPs count.
double iteration_space_size(const KnownShardings& known, size_t n, const Cut& cut) {
  double size = 1;
  for (size_t f = 0; f < cut.size(); ++f) {
    const Factor& factor = known.rules()[n].factors[f];
    if (factor.contributes_flops)
      size *= static_cast<double>(factor.size) / static_cast<double>(known.mesh().ways(cut[f]));
  }
  return size;
}

}  // namespace

bool CutScore::operator<(const CutScore& other) const {
  for (const auto& [a, b] :
       {std::pair(moved, other.moved), std::pair(computed, other.computed), std::pair(later, other.later)}) {
    if (std::abs(a - b) > 1e-6 * std::max(a, b)) return a < b;
  }
  return unlike < other.unlike;
}

bool is_compute_bound(const KnownShardings& known, size_t n) {
  double elements = 0;
  for (const auto* values : {&known.graph().nodes[n].inputs, &known.graph().nodes[n].outputs}) {
    for (ValueId value : *values) elements += static_cast<double>(known.graph().type(value).elements());
  }
  return iteration_space_size(known, n, Cut(known.rules()[n].factors.size())) > kComputeBound * elements;
}

/// Returns the bytes that a rank receives when a value is resharded by the cheapest path and, unless it is an input or
/// no float, when its gradient is resharded back.
double CutScorer::moved(ValueId value, const Sharding& from, const Sharding& to) {
  const Type& type = known_.graph().type(value);
  double bytes = resharder_.path(type, from, to).cost;
  const bool is_input = known_.graph().values[value].producer < 0 && known_.state(value) < 0;
  if (is_float(type.dtype) && !is_input) bytes += resharder_.path(type, {.dims = to.dims}, {.dims = from.dims}).cost;
  return bytes;
}

/// Returns the number of places, each a dimension of an operand, that `cut` and the cut of neighbour `from` divide into
/// different numbers of parts. Operands and dimensions of the two nodes are compared by index; those that only one of
/// them has do not count. Returns 0 if `from` is the node itself or undecided.
int64_t CutScorer::unlike(size_t n, const Cut& cut, size_t from) const {
  if (from == n || !known_.partial().cuts[from]) return 0;
  const Strategy own = strategy_of(known_.rules()[n], cut, known_.mesh());
  const Strategy other = strategy_of(known_.rules()[from], *known_.partial().cuts[from], known_.mesh());
  int64_t count = 0;
  for (size_t i = 0; i < std::min(own.size(), other.size()); ++i) {
    for (size_t d = 0; d < std::min(own[i].size(), other[i].size()); ++d) count += own[i][d] != other[i][d];
  }
  return count;
}

CutScore CutScorer::score(size_t n, const Cut& cut, size_t from) {
  const Node& node = known_.graph().nodes[n];
  const ShardingRule& rule = known_.rules()[n];
  const bool compute_bound = is_compute_bound(known_, n);
  CutScore score{.computed = iteration_space_size(known_, n, cut)};
  const std::vector<Sharding> given = known_.operands(n, cut);
  const Sharding passed = propagate_partial(rule, cut, given);
  bool from_operands = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId value = node.inputs[i];
    if (!known_.sharding(value)) continue;
    Sharding required{.dims = dims_from_factors(rule, cut, rule.inputs[i])};
    if (!given[i].partial.empty() && !passed.partial.empty()) {
      required.kind = given[i].kind;
      required.partial = given[i].partial;
    }
    const bool loose = known_.state(value) >= 0 && !known_.is_pinned(value);
    (compute_bound && loose ? score.later : score.moved) += moved(value, given[i], required);
    from_operands = from_operands || known_.state(value) < 0;
  }
  double outwards = 0;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const Sharding made = result_sharding(rule, cut, passed, static_cast<int>(k));
    bool reduced = false;
    for (NodeId user : known_.users(node.outputs[k])) {
      if (!known_.is_decided(user)) continue;
      outwards += moved(node.outputs[k], made, known_.required_sharding(user, node.outputs[k]));
      reduced = true;
    }
    if (!made.partial.empty() && !reduced) {
      score.later += resharder_.path(known_.graph().type(node.outputs[k]), made, {.dims = made.dims}).cost;
    }
  }
  (compute_bound && from_operands ? score.later : score.moved) += outwards;
  score.unlike = unlike(n, cut, from);
  return score;
}

}  // namespace partita
