#include "ir/sharding/reshard.h"

#include <algorithm>
#include <queue>

#include "ir/sharding/axes.h"
#include "ir/sharding/reshard_bound.h"
#include "ir/sharding/reshard_moves.h"

namespace partita {
namespace {

constexpr size_t kMaxAxes = 6;            // up to which the exact search terminates
constexpr double kHeuristicWeight = 100;  // heuristic weight of weighted A* (Pohl, 1970), to find any path
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string key_of(const Sharding& sharding) {
  std::string key;
  for (const Axes& axes : sharding.dims) {
    for (int axis : axes) key += static_cast<char>(axis + '0');
    key += '/';
  }
  for (int axis : sharding.partial) key += static_cast<char>(axis + '0');
  return key;
}

class Search {
 public:
  Search(const Type& type, const Sharding& from, const Sharding& to, const Mesh& mesh, const LinkCosts& costs)
      : ends_{type, from, to, mesh, costs}, type_(type), from_(from), to_(to), mesh_(mesh), costs_(costs) {}

  Resharder::Path find() {
    const double most = std::max(local_bytes(type_, from_.dims, mesh_), local_bytes(type_, to_.dims, mesh_));
    for (const double bound : {most * (1 + kCostTolerance), kInfinity}) {
      Resharder::Path path = best(bound);
      if (path.cost < kInfinity) return path;
    }
    return through_the_whole();
  }

 private:
  struct Visited {
    Sharding sharding;
    double cost = 0;
    int moves = 0;
    std::string before;  // key of the previous sharding
    Move move;
    bool done = false;
  };
  struct Open {
    double estimate;
    int moves;
    std::string key;
    bool operator>(const Open& other) const {
      if (std::abs(estimate - other.estimate) > kCostTolerance * std::max(1.0, std::abs(estimate))) {
        return estimate > other.estimate;
      }
      return std::tie(moves, key) > std::tie(other.moves, other.key);
    }
  };

  /// Returns the best path through states of at most `bound` bytes per rank that three searches find: weighted A* and
  /// A* over merged axes, then, on a mesh of few axes, an exact search. A later search only looks for a path that is
  /// cheaper, or as cheap with fewer moves. The cost is infinite if none finds a path.
  Resharder::Path best(double bound) {
    Resharder::Path path{.moves = {}, .cost = kInfinity};
    runs_ = merged_runs(ends_);
    if (search(bound, kInfinity, kHeuristicWeight)) path = trace();
    const bool any = path.cost < kInfinity;
    const double slack = any ? 2 * kCostTolerance * std::max(1.0, path.cost) : 0;
    if (search(bound, path.cost + slack, 1)) {
      Resharder::Path other = trace();
      if (!any || other.cost < path.cost - slack || other.moves.size() < path.moves.size()) path = std::move(other);
    }
    if (mesh_.axes().size() > kMaxAxes) return path;
    runs_ = single_runs(ends_);
    if (path.cost <= bound_of(from_) * (1 + 2 * kCostTolerance)) return path;
    if (search(bound, path.cost * (1 - kCostTolerance), 1, /*exact=*/true)) path = trace();
    return path;
  }

  /// Returns the path that reduces, gathers what the ends cut differently, and cuts it as the target. For pairs on
  /// which every search gave up.
  Resharder::Path through_the_whole() const {
    Resharder::Path path;
    Sharding now = from_;
    const auto go = [&](Move move) {
      if (move.axes.empty()) return;
      path.cost += cost_of(move, type_, now, mesh_, costs_);
      now = move.result;
      path.moves.push_back(std::move(move));
    };
    Sharding next = now;
    next.partial = to_.partial;
    if (next.partial.empty()) next.kind = Reduce::none;
    go({Collective::all_reduce, without(now.partial, to_.partial), -1, -1, next});
    const auto common = [&](size_t d) {
      const auto end = std::mismatch(now.dims[d].begin(), now.dims[d].end(), to_.dims[d].begin(), to_.dims[d].end());
      return end.first - now.dims[d].begin();
    };
    for (size_t d = 0; d < now.dims.size(); ++d) {
      next = now;
      next.dims[d].resize(common(d));
      go({Collective::all_gather, {now.dims[d].begin() + common(d), now.dims[d].end()}, static_cast<int>(d), -1, next});
    }
    for (size_t d = 0; d < now.dims.size(); ++d) {
      next = now;
      next.dims[d] = to_.dims[d];
      go({Collective::slice, {to_.dims[d].begin() + common(d), to_.dims[d].end()}, static_cast<int>(d), -1, next});
    }
    return path;
  }

  /// Whether there is a path cheaper than `limit` through states of at most `most` bytes per rank. May miss one: it
  /// gives up after kMaxMoves moves. `trace` returns the path. `weight`: factor of the lower bound in A*; above 1 the
  /// path may not be the cheapest. `exact`: as in ReshardMoves.
  bool search(double most, double limit, double weight, bool exact = false) {
    visited_.clear();
    ReshardMoves moves_of(ends_, runs_, exact);
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    const std::string start = key_of(from_), goal = key_of(to_);
    visited_[start] = {from_, 0, 0, "", {}, false};
    open.push({weight * bound_of(from_), 0, start});
    while (!open.empty()) {
      const std::string key = open.top().key;
      open.pop();
      Visited& now = visited_.at(key);
      if (now.done) continue;
      now.done = true;
      if (key == goal) return true;
      if (moves_of.count() > kMaxMoves) return false;
      const Visited base = now;  // a copy, since `visited_` grows below
      for (const Move& move : moves_of.from(base.sharding, base.cost, limit)) {
        if (local_bytes(type_, move.result.dims, mesh_) > most) continue;
        const double cost = base.cost + cost_of(move, type_, base.sharding, mesh_, costs_);
        if (cost + bound_of(move.result) >= limit) continue;
        const int moves = base.moves + 1;
        const std::string next = key_of(move.result);
        const auto [entry, fresh] = visited_.try_emplace(next);
        Visited& visited = entry->second;
        const double slack = kCostTolerance * std::max(1.0, cost);
        const bool better =
            fresh || cost < visited.cost - slack || (cost < visited.cost + slack && moves < visited.moves);
        if (!better || visited.done) continue;
        visited = {move.result, cost, moves, key, move, false};
        open.push({cost + weight * bound_of(move.result), moves, next});
      }
    }
    return false;
  }

  double bound_of(const Sharding& now) const { return min_cost(ends_, runs_, now); }

  /// Merges two consecutive moves of one kind into `last`, unless that costs more. `before` is the sharding that `last`
  /// moves. Returns whether it did.
  bool merge(const Sharding& before, Move& last, const Move& next) const {
    if (last.kind != next.kind || last.dim != next.dim || last.dim < 0 || last.to_dim != next.to_dim) return false;
    if (last.kind == Collective::all_to_all) return false;
    Move both = last;
    if (both.kind == Collective::all_gather) {
      both.axes.insert(both.axes.begin(), next.axes.begin(), next.axes.end());
    } else {
      append(both.axes, next.axes);
    }
    both.result = next.result;
    const auto cost = [&](const Move& move, const Sharding& from) { return cost_of(move, type_, from, mesh_, costs_); };
    const double apart = cost(last, before) + cost(next, last.result);
    if (cost(both, before) > apart + kCostTolerance * std::max(1.0, apart)) return false;
    last = std::move(both);
    return true;
  }

  /// Checks that no axis is used twice. Throws InternalError otherwise.
  void check_axes(const Sharding& sharding) const {
    Axes used = sharding.partial;
    for (const Axes& axes : sharding.dims) {
      PARTITA_CHECK(!any_of(axes, used), "{} uses an axis twice", print(type_, sharding, mesh_));
      append(used, axes);
    }
  }

  Resharder::Path trace() const {
    std::vector<Move> backwards;
    const Visited* at = &visited_.at(key_of(to_));
    Resharder::Path path{.moves = {}, .cost = at->cost};
    for (; !at->before.empty() || at->moves > 0; at = &visited_.at(at->before)) backwards.push_back(at->move);
    for (auto move = backwards.rbegin(); move != backwards.rend(); ++move) {
      check_axes(move->result);
      const size_t count = path.moves.size();
      const Sharding& before = count > 1 ? path.moves[count - 2].result : from_;
      if (count == 0 || !merge(before, path.moves.back(), *move)) path.moves.push_back(*move);
    }
    return path;
  }

  const ReshardEnds ends_;
  const Type& type_;
  const Sharding &from_, &to_;
  const Mesh& mesh_;
  const LinkCosts& costs_;
  std::vector<Axes> runs_;
  std::unordered_map<std::string, Visited> visited_;
};

}  // namespace

const Resharder::Path& Resharder::path(const Type& type, const Sharding& from, const Sharding& to) {
  std::string key = key_of(from) + '|' + key_of(to);
  key += static_cast<char>(from.kind);
  key += static_cast<char>(type.dtype);
  key.append(reinterpret_cast<const char*>(type.shape.data()), type.shape.size() * sizeof(int64_t));
  const auto found = path_cache_.find(key);
  if (found != path_cache_.end()) return found->second;
  return path_cache_[key] = Search(type, from, to, mesh_, costs_).find();
}

}  // namespace partita
