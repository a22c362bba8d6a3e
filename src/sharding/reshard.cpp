#include "sharding/reshard.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

namespace partita {
namespace {

constexpr double kTolerance = 1e-9;       // costs are sums of fractions
constexpr int64_t kMostMoves = 200'000;   // that a search looks at before it gives up
constexpr size_t kMostAxes = 6;           // with which the search over everything comes to an end
constexpr double kHeuristicWeight = 100;  // of weighted A* (Pohl, 1970), in a search that wants any way
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Elements of a rank, as a fraction where sizes do not divide, so that costs of moves add up exactly.
double local_elements(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh) {
  double count = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    count *= static_cast<double>(type.shape[d]) / static_cast<double>(mesh.ways(dims[d]));
  }
  return count;
}

double local_bytes(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh) {
  return local_elements(type, dims, mesh) * static_cast<double>(size_of(type.dtype));
}

bool contains(const Axes& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

bool any_of(const Axes& axes, const Axes& others) {
  return std::any_of(axes.begin(), axes.end(), [&](int axis) { return contains(others, axis); });
}

Axes without(const Axes& axes, const Axes& taken) {
  Axes rest;
  for (int axis : axes) {
    if (!contains(taken, axis)) rest.push_back(axis);
  }
  return rest;
}

void append(Axes& axes, const Axes& more) { axes.insert(axes.end(), more.begin(), more.end()); }

std::string key_of(const Sharding& sharding) {
  std::string key;
  for (const Axes& axes : sharding.dims) {
    for (int axis : axes) key += static_cast<char>(axis + '0');
    key += '/';
  }
  for (int axis : sharding.partial) key += static_cast<char>(axis + '0');
  return key;
}

/// All but the empty one.
std::vector<Axes> subsets(const Axes& axes) {
  std::vector<Axes> result{{}};
  for (int axis : axes) {
    for (size_t i = 0, count = result.size(); i < count; ++i) {
      result.push_back(result[i]);
      result.back().push_back(axis);
    }
  }
  result.erase(result.begin());
  return result;
}

class Search {
 public:
  Search(const Type& type, const Sharding& from, const Sharding& to, const Mesh& mesh, const LinkCosts& costs)
      : type_(type), from_(from), to_(to), mesh_(mesh), costs_(costs) {
    cheapest_byte_ = costs.byte.empty() ? 0 : *std::min_element(costs.byte.begin(), costs.byte.end());
  }

  Resharder::Path find() {
    const double most = std::max(local_bytes(type_, from_.dims, mesh_), local_bytes(type_, to_.dims, mesh_));
    for (const double bound : {most * (1 + kTolerance), kInfinity}) {
      Resharder::Path path = best(bound);
      if (path.cost < kInfinity) return path;
    }
    return through_the_whole();
  }

 private:
  struct Known {
    Sharding sharding;
    double cost = 0;
    int moves = 0;
    std::string before;  // key
    Move move;
    bool done = false;
  };
  struct Open {
    double estimate;
    int moves;
    std::string key;
    bool operator>(const Open& other) const {
      if (std::abs(estimate - other.estimate) > kTolerance * std::max(1.0, std::abs(estimate))) {
        return estimate > other.estimate;
      }
      return std::tie(moves, key) > std::tie(other.moves, other.key);
    }
  };

  /// What three searches find, each of which only looks for better than the one before: one by weighted A* for the
  /// target, one over merged axes, one over everything.
  Resharder::Path best(double bound) {
    Resharder::Path path{.moves = {}, .cost = kInfinity};
    merge_axes();
    exact_ = false;
    if (search(bound, kInfinity, kHeuristicWeight)) path = trace();
    const bool any = path.cost < kInfinity;
    const double slack = any ? 2 * kTolerance * std::max(1.0, path.cost) : 0;
    if (search(bound, path.cost + slack, 1)) {
      Resharder::Path other = trace();
      if (!any || other.cost < path.cost - slack || other.moves.size() < path.moves.size()) path = std::move(other);
    }
    if (mesh_.axes().size() > kMostAxes) return path;
    take_all_axes();
    if (path.cost <= estimate(from_) * (1 + 2 * kTolerance)) return path;
    exact_ = true;
    if (search(bound, path.cost * (1 - kTolerance), 1)) path = trace();
    return path;
  }

  /// For pairs on which every search gave up: all is reduced and gathered, and cut again.
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

  /// First quick searches: axes that stand side by side in both shardings move together, and those that neither side
  /// uses stay away. Its path bounds the exact search, which needs to look at little more than that path.
  void merge_axes() {
    runs_.clear();
    for (size_t axis = 0; axis < mesh_.axes().size(); ++axis) {
      const int a = static_cast<int>(axis);
      if (follower(from_, a) == kUnused && follower(to_, a) == kUnused) continue;
      const bool continues = std::any_of(mesh_.axes().begin(), mesh_.axes().end(), [&](const MeshAxis& other) {
        return joined(static_cast<int>(&other - mesh_.axes().data()), a);
      });
      if (continues) continue;
      Axes run{a};
      for (int next = joint(a); next >= 0; next = joint(next)) run.push_back(next);
      runs_.push_back(run);
    }
  }

  /// Where messages are free and a sum is open, axes that neither side uses stay away here too: slicing by them,
  /// reducing and gathering again would save bytes at the price of any number of messages.
  void take_all_axes() {
    runs_.clear();
    const bool free = std::all_of(costs_.step.begin(), costs_.step.end(), [](double step) { return step == 0; });
    for (size_t axis = 0; axis < mesh_.axes().size(); ++axis) {
      const int a = static_cast<int>(axis);
      const bool unused = follower(from_, a) == kUnused && follower(to_, a) == kUnused;
      if (!(unused && free && from_.partial != to_.partial)) runs_.push_back({a});
    }
  }

  static constexpr int kLast = -1, kUnused = -2, kPartial = -3;
  /// The axis right behind this one in its dimension, or why there is none.
  static int follower(const Sharding& sharding, int axis) {
    for (const Axes& axes : sharding.dims) {
      const auto at = std::find(axes.begin(), axes.end(), axis);
      if (at != axes.end()) return at + 1 == axes.end() ? kLast : *(at + 1);
    }
    return contains(sharding.partial, axis) ? kPartial : kUnused;
  }
  /// The axis that stands behind this one on both sides, or on one, while on the other both are unused or partial. Of
  /// axes that are partial on one side and unused on the other each is followed by the next. -1: none.
  int joint(int axis) const {
    const int here = follower(from_, axis), there = follower(to_, axis);
    if (here >= 0 && (there == here || (there != kLast && there < 0 && follower(to_, here) == there))) return here;
    if (there >= 0 && here != kLast && here < 0 && follower(from_, there) == here) return there;
    if (here != kPartial || there != kUnused) return -1;
    for (int next = axis + 1; next < static_cast<int>(mesh_.axes().size()); ++next) {
      if (follower(from_, next) == kPartial && follower(to_, next) == kUnused) return next;
    }
    return -1;
  }
  bool joined(int first, int second) const { return joint(first) == second; }

  /// Whether there is a way that costs less than `limit` through states of at most `most` bytes, as far as it looks.
  bool search(double most, double limit, double greed) {
    known_.clear();
    turned_.clear();
    looked_at_ = 0;
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    const std::string start = key_of(from_), goal = key_of(to_);
    known_[start] = {from_, 0, 0, "", {}, false};
    open.push({greed * estimate(from_), 0, start});
    while (!open.empty()) {
      const std::string key = open.top().key;
      open.pop();
      Known& now = known_.at(key);
      if (now.done) continue;
      now.done = true;
      if (key == goal) return true;
      if (looked_at_ > kMostMoves) return false;
      const Known base = now;  // `known_` grows below
      for (const Move& move : moves_from(base.sharding, base.cost, limit)) {
        if (local_bytes(type_, move.result.dims, mesh_) > most) continue;
        const double cost = base.cost + cost_of(move, type_, base.sharding, mesh_, costs_);
        if (cost + estimate(move.result) >= limit) continue;
        const int moves = base.moves + 1;
        const std::string next = key_of(move.result);
        const auto [entry, fresh] = known_.try_emplace(next);
        Known& known = entry->second;
        const double slack = kTolerance * std::max(1.0, cost);
        const bool better = fresh || cost < known.cost - slack || (cost < known.cost + slack && moves < known.moves);
        if (!better || known.done) continue;
        known = {move.result, cost, moves, key, move, false};
        open.push({cost + greed * estimate(move.result), moves, next});
      }
    }
    return false;
  }

  /// Bytes that some rank must still receive: what it is to hold and does not. Where two cuts of a dimension part ways,
  /// some rank holds nothing of what it needs.
  double estimate(const Sharding& now) const {
    double shared = 1;
    for (size_t d = 0; d < now.dims.size(); ++d) {
      const Axes &a = now.dims[d], &b = to_.dims[d];
      const size_t common = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
      if (common < a.size() && common < b.size()) shared = 0;
      const Axes& finer = a.size() > b.size() ? a : b;
      shared *= static_cast<double>(type_.shape[d]) / static_cast<double>(mesh_.ways(finer));
    }
    const double wanted = local_elements(type_, to_.dims, mesh_);
    double missing = wanted - shared;
    const auto open = static_cast<double>(mesh_.ways(without(now.partial, to_.partial)));
    if (open > 1) {  // sliced by what is free, of what is left every rank gets all shares but its own of one part
      const double reduced = local_elements(type_, now.dims, mesh_) / free_ways(now);
      missing = reduced * (open - 1) / open + std::max(0.0, wanted - reduced / open);
    }
    return std::max(0.0, missing) * static_cast<double>(size_of(type_.dtype)) * cheapest_byte_ * (1 - kTolerance);
  }

  /// Into how many parts axes that a sharding does not use could slice it.
  double free_ways(const Sharding& now) const {
    double ways = 1;
    for (const Axes& run : runs_) {
      if (follower(now, run.front()) == kUnused) ways *= static_cast<double>(mesh_.ways(run));
    }
    return ways;
  }

  /// The run that begins at position `at` of a dimension, or none when `at` is inside of one.
  const Axes* run_at(const Axes& axes, size_t at) const {
    for (const Axes& run : runs_) {
      if (run.front() == axes[at]) return &run;
    }
    return nullptr;
  }

  bool fits(const std::vector<Axes>& dims, int dim) const { return mesh_.ways(dims[dim]) <= type_.shape[dim]; }

  std::vector<Move> moves_from(const Sharding& now, double paid, double limit) {
    std::vector<Move> moves;
    const int rank = static_cast<int>(now.dims.size());
    Axes used = now.partial;
    for (const Axes& axes : now.dims) append(used, axes);
    const auto add = [&](Collective kind, Axes axes, int dim, int to_dim, Sharding result) {
      if (result.partial.empty()) result.kind = Reduce::none;
      moves.push_back({kind, std::move(axes), dim, to_dim, std::move(result)});
    };
    for (const Axes& run : runs_) {
      if (any_of(run, used)) continue;
      for (int d = 0; d < rank; ++d) {
        Sharding cut = now;
        append(cut.dims[d], run);
        if (fits(cut.dims, d)) add(Collective::slice, run, d, -1, std::move(cut));
      }
    }
    for (int d = 0; d < rank; ++d) {
      for (size_t at = now.dims[d].size(); at-- > 0;) {
        if (run_at(now.dims[d], at) == nullptr) continue;
        const Axes tail(now.dims[d].begin() + static_cast<int64_t>(at), now.dims[d].end());
        Sharding gathered = now;
        gathered.dims[d].resize(at);
        for (int e = 0; e < rank; ++e) {
          if (e == d) continue;
          Sharding moved = gathered;
          append(moved.dims[e], tail);
          if (fits(moved.dims, e)) add(Collective::all_to_all, tail, d, e, std::move(moved));
        }
        add(Collective::all_gather, tail, d, -1, std::move(gathered));
      }
    }
    const Axes reducible = without(now.partial, to_.partial);
    if (!reducible.empty()) {
      for (const Axes& axes : exact_ ? subsets(reducible) : std::vector<Axes>{reducible}) {
        Sharding reduced = now;
        reduced.partial = without(now.partial, axes);
        add(Collective::all_reduce, axes, -1, -1, std::move(reduced));
      }
      for (const Axes& run : runs_) {
        if (!without(run, reducible).empty()) continue;
        for (int d = 0; d < rank; ++d) {
          Sharding scattered = now;
          scattered.partial = without(now.partial, run);
          append(scattered.dims[d], run);
          if (fits(scattered.dims, d)) add(Collective::reduce_scatter, run, d, -1, std::move(scattered));
        }
      }
    }
    std::vector<Sharding> turned{permuted(now)};
    if (exact_) {
      turned.clear();
      const bool can_pay = paid + local_bytes(type_, now.dims, mesh_) * cheapest_byte_ < limit;
      if (can_pay && turns_cheaper(now, paid)) turned = permutes(now);
    }
    for (Sharding& next : turned) {
      if (next.dims == now.dims) continue;
      Axes all;
      for (const Axes& axes : now.dims) append(all, axes);
      for (const Axes& axes : next.dims) append(all, without(axes, all));
      std::sort(all.begin(), all.end());
      add(Collective::permute, std::move(all), -1, -1, std::move(next));
    }
    looked_at_ += static_cast<int64_t>(moves.size());
    return moves;
  }

  /// Shardings with the same parts and the same axes turn into others at the same price, so that those of them that
  /// were reached at least as cheaply do it for this one.
  bool turns_cheaper(const Sharding& now, double paid) {
    std::string key, axes(mesh_.axes().size(), '-');
    for (const Axes& dim : now.dims) {
      key += fmt::format("{},", mesh_.ways(dim));
      for (int axis : dim) axes[axis] = '+';
    }
    for (int axis : now.partial) axes[axis] = '*';
    const auto [known, fresh] = turned_.try_emplace(key + axes, paid);
    if (!fresh && known->second <= paid) return false;
    known->second = paid;
    return true;
  }

  /// Shards of the same shape on other ranks: each dimension is cut by the axes that it is to be cut by in the end, so
  /// far as they fit its number of parts, and then by such as it has now. The sharding itself when that does not work.
  Sharding permuted(const Sharding& now) const {
    Sharding turned = now;
    Axes taken = now.partial;
    std::vector<int64_t> left;
    const auto take = [&](size_t d, const Axes& run) {  // whole, or not at all
      if (left[d] % mesh_.ways(run) != 0 || any_of(run, taken)) return false;
      left[d] /= mesh_.ways(run);
      append(turned.dims[d], run);
      append(taken, run);
      return true;
    };
    for (size_t d = 0; d < now.dims.size(); ++d) {
      left.push_back(mesh_.ways(now.dims[d]));
      turned.dims[d].clear();
      const Axes& wanted = to_.dims[d];
      for (size_t at = 0; at < wanted.size();) {
        const Axes* run = run_at(wanted, at);
        if (run == nullptr || !take(d, *run)) break;
        at += run->size();
      }
    }
    for (const bool own : {true, false}) {
      for (size_t d = 0; d < now.dims.size(); ++d) {
        for (const Axes& run : runs_) {
          if (left[d] > 1 && (!own || contains(now.dims[d], run.front()))) take(d, run);
        }
      }
    }
    return std::all_of(left.begin(), left.end(), [](int64_t ways) { return ways == 1; }) ? turned : now;
  }

  /// All shardings with as many parts in each dimension (runs are single axes here), as far as the search may still
  /// look.
  std::vector<Sharding> permutes(const Sharding& now) const {
    std::vector<Sharding> result;
    Sharding turned = now;
    Axes taken = now.partial;
    for (Axes& axes : turned.dims) axes.clear();
    std::vector<int64_t> left;
    for (const Axes& axes : now.dims) left.push_back(mesh_.ways(axes));
    const auto fill = [&](const auto& self, size_t d) -> void {
      while (d < left.size() && left[d] == 1) ++d;
      if (static_cast<int64_t>(result.size()) > kMostMoves - looked_at_) return;
      if (d == left.size()) {
        result.push_back(turned);
        return;
      }
      for (const Axes& run : runs_) {
        const int a = run.front();
        const int64_t size = mesh_.ways(run);
        if (left[d] % size != 0 || contains(taken, a)) continue;
        left[d] /= size;
        taken.push_back(a);
        turned.dims[d].push_back(a);
        self(self, d);
        turned.dims[d].pop_back();
        taken.pop_back();
        left[d] *= size;
      }
    };
    fill(fill, 0);
    return result;
  }

  /// Moves of one kind that follow each other become one, unless that costs more; `before` is what `last` moves.
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
    if (cost(both, before) > apart + kTolerance * std::max(1.0, apart)) return false;
    last = std::move(both);
    return true;
  }

  /// Throws InternalError when an axis is used twice.
  void check_axes(const Sharding& sharding) const {
    Axes used = sharding.partial;
    for (const Axes& axes : sharding.dims) {
      PARTITA_CHECK(!any_of(axes, used), "{} uses an axis twice", print(type_, sharding, mesh_));
      append(used, axes);
    }
  }

  Resharder::Path trace() const {
    std::vector<Move> backwards;
    const Known* at = &known_.at(key_of(to_));
    Resharder::Path path{.moves = {}, .cost = at->cost};
    for (; !at->before.empty() || at->moves > 0; at = &known_.at(at->before)) backwards.push_back(at->move);
    for (auto move = backwards.rbegin(); move != backwards.rend(); ++move) {
      check_axes(move->result);
      const size_t count = path.moves.size();
      const Sharding& before = count > 1 ? path.moves[count - 2].result : from_;
      if (count == 0 || !merge(before, path.moves.back(), *move)) path.moves.push_back(*move);
    }
    return path;
  }

  const Type& type_;
  const Sharding &from_, &to_;
  const Mesh& mesh_;
  const LinkCosts& costs_;
  std::vector<Axes> runs_;
  bool exact_ = false;
  int64_t looked_at_ = 0;                 // moves of the present search
  std::map<std::string, double> turned_;  // what was paid where permutes were made
  double cheapest_byte_ = 0;
  std::unordered_map<std::string, Known> known_;
};

}  // namespace

LinkCosts LinkCosts::bytes(const Mesh& mesh) {
  return {std::vector<double>(mesh.axes().size(), 0), std::vector<double>(mesh.axes().size(), 1)};
}

double cost_of(const Move& move, const Type& type, const Sharding& from, const Mesh& mesh, const LinkCosts& costs) {
  double step = 0, byte = 0;
  for (int axis : move.axes) {
    step = std::max(step, costs.step[axis]);
    byte = std::max(byte, costs.byte[axis]);
  }
  const double before = local_bytes(type, from.dims, mesh), ways = static_cast<double>(mesh.ways(move.axes));
  switch (move.kind) {
    case Collective::slice: return 0;
    case Collective::all_gather: return (ways - 1) * (step + before * byte);
    case Collective::all_to_all: return (ways - 1) * (step + before / ways * byte);
    case Collective::permute: return step + before * byte;
    case Collective::reduce_scatter: return (ways - 1) * (step + before / ways * byte);
    case Collective::all_reduce: return 2 * (ways - 1) * (step + before / ways * byte);
    default: PARTITA_CHECK(false, "{} is no move", name_of(move.kind));
  }
  return 0;
}

const Resharder::Path& Resharder::path(const Type& type, const Sharding& from, const Sharding& to) {
  std::string key = key_of(from) + '|' + key_of(to);
  key += static_cast<char>(from.kind);
  key += static_cast<char>(type.dtype);
  key.append(reinterpret_cast<const char*>(type.shape.data()), type.shape.size() * sizeof(int64_t));
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_[key] = Search(type, from, to, mesh_, costs_).find();
}

}  // namespace partita
