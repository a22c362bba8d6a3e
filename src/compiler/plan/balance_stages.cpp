#include "compiler/plan/balance_stages.h"

#include <algorithm>
#include <numeric>

#include "ir/work/flops.h"

namespace partita {
namespace {

constexpr size_t kMaxLevels = 64;  // maximum number of limits on passing bytes that are tried
constexpr double kSlack = 1.1;     // factor on the most even division, allowed so that fewer bytes pass

/// Contiguous pieces of the forward pass. A stage may begin only where a piece begins.
struct Pieces {
  std::vector<size_t> begins;  // index of each piece's first node in the list of nodes
  std::vector<double> sums;    // FLOPs before each piece, then those of all
};

/// Returns, for each piece, the index of the piece after the longest run from it with at most `most` FLOPs; its own
/// index if it alone has more.
std::vector<size_t> ends_of(const Pieces& pieces, double most) {
  std::vector<size_t> ends(pieces.begins.size());
  size_t end = 0;
  for (size_t begin = 0; begin < ends.size(); ++begin) {
    end = std::max(end, begin);
    while (end < ends.size() && pieces.sums[end + 1] - pieces.sums[begin] <= most) ++end;
    ends[begin] = end;
  }
  return ends;
}

/// Returns, for each piece, the minimum number of stages for it and all later ones with at most `most` FLOPs each; more
/// than there are pieces if one of them is too large. A last element, 0, is for no piece.
std::vector<size_t> stages_needed(const Pieces& pieces, double most) {
  const std::vector<size_t> ends = ends_of(pieces, most);
  std::vector<size_t> needed(ends.size() + 1, 0);
  for (size_t begin = ends.size(); begin-- > 0;) {
    needed[begin] = ends[begin] == begin ? ends.size() + 1 : std::min(ends.size(), needed[ends[begin]]) + 1;
  }
  return needed;
}

/// Returns the smallest possible FLOPs of the largest of `stages` stages, to within a millionth (by bisection).
double min_of_most(const Pieces& pieces, size_t stages) {
  double low = pieces.sums.back() / static_cast<double>(stages), high = pieces.sums.back();
  while (high - low > 1e-6 * high) {
    const double middle = (low + high) / 2;
    (stages_needed(pieces, middle)[0] <= stages ? high : low) = middle;
  }
  return high;
}

class Balancer {
 public:
  Balancer(const Graph& graph, const Rules& rules, const std::vector<bool>& left_out, size_t stages)
      : graph_(graph), stages_(stages) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].phase != Phase::forward || left_out[n]) continue;
      nodes_.push_back(n);
      work_.push_back(flops_of(rules, n));
    }
    if (nodes_.size() < stages) {
      throw InvalidArgument(
          "[stages] more stages than the network has nodes, got {} stages of {} nodes, expected at most {}", stages,
          nodes_.size(), nodes_.size());
    }
    find_passing_bytes();
  }

  std::vector<int> run() const {
    std::vector<int64_t> levels(passing_.begin() + 1, passing_.end());
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    const Pieces all = pieces_at(std::numeric_limits<int64_t>::max());
    const double best = min_of_most(all, stages_), spread = squares_of(all, ends_of_stages(all));
    const size_t step = levels.size() / kMaxLevels + 1;
    for (size_t level = 0; level < levels.size(); level += step) {
      const Pieces pieces = pieces_at(levels[level]);
      if (pieces.begins.size() < stages_ || min_of_most(pieces, stages_) > kSlack * best) continue;
      if (squares_of(pieces, ends_of_stages(pieces)) <= kSlack * spread) return assign(pieces);
    }
    return assign(all);
  }

 private:
  /// Sets `passing_`: for each node of `nodes_`, the bytes of results of earlier ones that it or a later one uses.
  void find_passing_bytes() {
    std::vector<size_t> made(graph_.values.size(), SIZE_MAX), used(graph_.values.size(), 0);
    for (size_t at = 0; at < nodes_.size(); ++at) {
      for (const ValueId input : graph_.nodes[nodes_[at]].inputs) used[input] = at;
      for (const ValueId output : graph_.nodes[nodes_[at]].outputs) made[output] = at;
    }
    passing_.assign(nodes_.size() + 1, 0);
    for (size_t v = 0; v < made.size(); ++v) {
      if (made[v] == SIZE_MAX || used[v] <= made[v]) continue;
      const int64_t bytes = graph_.values[v].type.bytes();
      passing_[made[v] + 1] += bytes;
      passing_[used[v] + 1] -= bytes;
    }
    std::partial_sum(passing_.begin(), passing_.end(), passing_.begin());
    passing_.pop_back();
  }

  /// Returns the pieces that begin at the first node and at each node before which at most `max_bytes` bytes pass
  /// (`passing_`).
  Pieces pieces_at(int64_t max_bytes) const {
    Pieces pieces;
    double sum = 0;
    for (size_t at = 0; at < nodes_.size(); ++at) {
      if (at == 0 || passing_[at] <= max_bytes) {
        pieces.begins.push_back(at);
        pieces.sums.push_back(sum);
      }
      sum += work_[at];
    }
    pieces.sums.push_back(sum);
    return pieces;
  }

  /// Returns for each stage the index of the piece after its last one. A stage takes as close to an even share of the
  /// remaining FLOPs as is possible if no later stage is to exceed `min_of_most`. There must be at least as many pieces
  /// as stages.
  std::vector<size_t> ends_of_stages(const Pieces& pieces) const {
    const std::vector<size_t> needed = stages_needed(pieces, min_of_most(pieces, stages_));
    std::vector<size_t> ends;
    size_t begin = 0;
    for (size_t stage = 0; stage < stages_; ++stage) {
      const size_t left = stages_ - stage - 1;
      const double share = (pieces.sums.back() - pieces.sums[begin]) / static_cast<double>(left + 1);
      size_t end = begin + 1;
      const auto may_end = [&](size_t at) { return needed[at] <= left; };
      const auto distance = [&](size_t at) { return std::abs(pieces.sums[at] - pieces.sums[begin] - share); };
      while (end + left < pieces.begins.size() && (!may_end(end) || distance(end + 1) < distance(end))) ++end;
      ends.push_back(left == 0 ? pieces.begins.size() : end);
      begin = ends.back();
    }
    return ends;
  }

  /// Sum of squares of the stages' FLOPs, which is smallest for even stages.
  static double squares_of(const Pieces& pieces, const std::vector<size_t>& ends) {
    double squares = 0;
    size_t begin = 0;
    for (const size_t end : ends) {
      const double work = pieces.sums[end] - pieces.sums[begin];
      squares += work * work;
      begin = end;
    }
    return squares;
  }

  std::vector<int> assign(const Pieces& pieces) const {
    std::vector<int> result(graph_.nodes.size(), -1);
    size_t begin = 0;
    int stage = 0;
    for (const size_t end : ends_of_stages(pieces)) {
      const size_t last = end < pieces.begins.size() ? pieces.begins[end] : nodes_.size();
      for (size_t at = pieces.begins[begin]; at < last; ++at) result[nodes_[at]] = stage;
      begin = end;
      ++stage;
    }
    return result;
  }

  const Graph& graph_;
  const size_t stages_;
  std::vector<size_t> nodes_;     // forward nodes in graph order
  std::vector<double> work_;      // FLOPs of each of them
  std::vector<int64_t> passing_;  // bytes that cross the boundary before each of them
};

}  // namespace

std::vector<int> balance_stages(const Graph& graph, const Rules& rules, const std::vector<bool>& left_out,
                                int64_t stages) {
  return Balancer(graph, rules, left_out, static_cast<size_t>(stages)).run();
}

}  // namespace partita
