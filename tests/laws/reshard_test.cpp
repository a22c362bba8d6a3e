// Resharding against exhaustive search. PARTITA_RESHARD_PAIRS says how many pairs are drawn where there are too many
// for all.

#include "ir/sharding/reshard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <queue>
#include <set>

#include "base/philox.h"

namespace partita {
namespace {

using Dims = std::vector<Axes>;

/// A sharding as the oracle sees it: `open` are the axes, ascending, over which sums are open.
struct State {
  Dims dims;
  Axes open;
  auto operator<=>(const State&) const = default;
};

Sharding sharding_of(const State& state) {
  return {.dims = state.dims, .kind = state.open.empty() ? Reduce::none : Reduce::sum, .partial = state.open};
}

bool contains(const Axes& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

/// All ways to cut a tensor by the axes that `now` does not use, in every order.
void add_states(const Mesh& mesh, const Type& type, State now, std::set<State>& states) {
  for (size_t d = 0; d < now.dims.size(); ++d) {
    if (mesh.ways(now.dims[d]) > type.shape[d]) return;
  }
  if (!states.insert(now).second) return;
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    const int a = static_cast<int>(axis);
    const bool used = contains(now.open, a) || std::any_of(now.dims.begin(), now.dims.end(),
                                                           [&](const Axes& axes) { return contains(axes, a); });
    for (size_t d = 0; !used && d < now.dims.size(); ++d) {
      State more = now;
      more.dims[d].push_back(a);
      add_states(mesh, type, more, states);
    }
  }
}

/// With sums open over every set of axes, or over none.
std::vector<State> all_states(const Mesh& mesh, const Type& type, bool with_sums) {
  std::set<State> states;
  const size_t sets = with_sums ? size_t{1} << mesh.axes().size() : 1;
  for (size_t set = 0; set < sets; ++set) {
    State start{Dims(type.shape.size()), {}};
    for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
      if ((set >> axis & 1) != 0) start.open.push_back(static_cast<int>(axis));
    }
    add_states(mesh, type, start, states);
  }
  return {states.begin(), states.end()};
}

/// The independent oracle: every move between every two states, as the definitions of the moves say, and the shortest
/// path by Dijkstra's algorithm.
class Exhaustive {
 public:
  Exhaustive(const Mesh& mesh, Type type, LinkCosts costs, bool with_sums = false)
      : mesh_(mesh), type_(std::move(type)), costs_(std::move(costs)), states_(all_states(mesh, type_, with_sums)) {
    for (const State& state : states_) bytes_.push_back(bytes(state.dims));
    edges_.resize(states_.size());
    for (size_t a = 0; a < states_.size(); ++a) {
      for (size_t b = 0; b < states_.size(); ++b) {
        if (const double cost = a == b ? -1 : edge(a, b); cost >= 0) edges_[a].emplace_back(b, cost);
      }
    }
  }

  const std::vector<State>& states() const { return states_; }

  /// Sums can be closed, not opened.
  bool can(size_t from, size_t to) const {
    const Axes &now = states_[from].open, &then = states_[to].open;
    return std::includes(now.begin(), now.end(), then.begin(), then.end());
  }

  /// From one state to each, under the memory bound of that pair: one search serves all targets no larger than the
  /// source.
  std::vector<double> costs(size_t from) const {
    std::vector<double> result = costs(from, bytes_[from] * (1 + 1e-9));
    for (size_t to = 0; to < result.size(); ++to) {
      const double own = bytes_[to] > bytes_[from] * (1 + 1e-9) ? cost(from, to, bytes_[to] * (1 + 1e-9)) : result[to];
      result[to] = own < kNever || !can(from, to) ? own : cost(from, to, kNever);
    }
    return result;
  }
  double cost(size_t from, size_t to) const {
    const double bounded = cost(from, to, std::max(bytes_[from], bytes_[to]) * (1 + 1e-9));
    return bounded < kNever ? bounded : cost(from, to, kNever);
  }

 private:
  static constexpr double kNever = 1e300;

  double cost(size_t from, size_t to, double most) const { return costs(from, most, to)[to]; }
  std::vector<double> costs(size_t from, double most, size_t to = SIZE_MAX) const {
    std::vector<double> best(states_.size(), kNever);
    std::priority_queue<std::pair<double, size_t>, std::vector<std::pair<double, size_t>>, std::greater<>> open;
    open.push({0, from});
    best[from] = 0;
    while (!open.empty()) {
      const auto [now, at] = open.top();
      open.pop();
      if (now > best[at]) continue;
      if (at == to) break;
      for (const auto& [next, more] : edges_[at]) {
        if (bytes_[next] > most || now + more >= best[next]) continue;
        best[next] = now + more;
        open.push({best[next], next});
      }
    }
    return best;
  }

  double bytes(const Dims& dims) const {
    double count = static_cast<double>(size_of(type_.dtype));
    for (size_t d = 0; d < dims.size(); ++d) {
      count *= static_cast<double>(type_.shape[d]) / static_cast<double>(mesh_.ways(dims[d]));
    }
    return count;
  }

  static bool prefix(const Axes& a, const Axes& b) {
    return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
  }
  static Axes tail(const Axes& axes, size_t from) { return {axes.begin() + static_cast<int64_t>(from), axes.end()}; }
  double bottleneck(const std::vector<double>& of, const Axes& axes) const {
    double most = 0;
    for (int axis : axes) most = std::max(most, of[axis]);
    return most;
  }

  /// The cheapest single move from one state to another, or -1.
  double edge(size_t from, size_t to) const {
    const State &now = states_[from], &then = states_[to];
    if (now.open == then.open) return moving(from, to);
    if (!std::includes(now.open.begin(), now.open.end(), then.open.begin(), then.open.end())) return -1;
    return reducing(from, to);
  }

  /// A sum is closed over some axes, which may then cut one dimension.
  double reducing(size_t from, size_t to) const {
    const State &now = states_[from], &then = states_[to];
    Axes closed;
    std::set_difference(now.open.begin(), now.open.end(), then.open.begin(), then.open.end(),
                        std::back_inserter(closed));
    const double n = static_cast<double>(mesh_.ways(closed));
    const double once =
        (n - 1) * (bottleneck(costs_.step, closed) + bytes_[from] / n * bottleneck(costs_.byte, closed));
    if (now.dims == then.dims) return 2 * once;
    int changed = 0;
    for (size_t d = 0; d < now.dims.size(); ++d) {
      if (now.dims[d] == then.dims[d]) continue;
      if (!prefix(now.dims[d], then.dims[d])) return -1;
      Axes more = tail(then.dims[d], now.dims[d].size());
      std::sort(more.begin(), more.end());
      if (more != closed) return -1;
      ++changed;
    }
    return changed == 1 ? once : -1;
  }

  double moving(size_t from, size_t to) const {
    const Dims &a = states_[from].dims, &b = states_[to].dims;
    std::vector<size_t> changed;
    bool same_ways = true;
    for (size_t d = 0; d < a.size(); ++d) {
      if (a[d] != b[d]) changed.push_back(d);
      same_ways = same_ways && mesh_.ways(a[d]) == mesh_.ways(b[d]);
    }
    double best = -1;
    const auto offer = [&](double cost) { best = best < 0 ? cost : std::min(best, cost); };
    if (changed.size() == 1) {
      const Axes &x = a[changed[0]], &y = b[changed[0]];
      if (prefix(x, y)) offer(0);
      if (prefix(y, x)) {
        const Axes axes = tail(x, y.size());
        const double n = static_cast<double>(mesh_.ways(axes));
        offer((n - 1) * (bottleneck(costs_.step, axes) + bytes_[from] * bottleneck(costs_.byte, axes)));
      }
    }
    if (changed.size() == 2) {
      for (const auto& [d, e] : {std::pair(changed[0], changed[1]), std::pair(changed[1], changed[0])}) {
        if (!prefix(b[d], a[d]) || !prefix(a[e], b[e])) continue;
        const Axes axes = tail(a[d], b[d].size());
        if (axes != tail(b[e], a[e].size())) continue;
        const double n = static_cast<double>(mesh_.ways(axes));
        offer((n - 1) * (bottleneck(costs_.step, axes) + bytes_[from] / n * bottleneck(costs_.byte, axes)));
      }
    }
    if (same_ways) {
      Axes all;
      for (const Dims* dims : {&a, &b}) {
        for (const Axes& axes : *dims) all.insert(all.end(), axes.begin(), axes.end());
      }
      offer(bottleneck(costs_.step, all) + bytes_[from] * bottleneck(costs_.byte, all));
    }
    return best;
  }

  const Mesh& mesh_;
  Type type_;
  LinkCosts costs_;
  std::vector<State> states_;
  std::vector<double> bytes_;
  std::vector<std::vector<std::pair<size_t, double>>> edges_;
};

LinkCosts links(const Mesh& mesh) {
  LinkCosts costs = LinkCosts::bytes(mesh);
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {  // the slowest link first
    costs.step[axis] = 200.0 / static_cast<double>(axis + 1);
    costs.byte[axis] = 1.0 / static_cast<double>(axis + 1);
  }
  return costs;
}

/// Each move gives a sharding that uses no axis twice, they lead from one end to the other, and cost what is said.
void expect_leads(const Resharder::Path& path, const Type& type, const Sharding& from, const Sharding& to,
                  const Mesh& mesh, const LinkCosts& costs) {
  Sharding now = from;
  double cost = 0;
  for (const Move& move : path.moves) {
    cost += cost_of(move, type, now, mesh, costs);
    now = move.result;
    std::set<int> used(now.partial.begin(), now.partial.end());
    size_t uses = now.partial.size();
    for (const Axes& axes : now.dims) {
      used.insert(axes.begin(), axes.end());
      uses += axes.size();
    }
    EXPECT_EQ(used.size(), uses) << print(type, now, mesh);
  }
  EXPECT_EQ(now, to);
  EXPECT_NEAR(path.cost, cost, 1e-6 * (1 + cost));
}

/// Expects the cost of the search to be that of the oracle, for `pairs` drawn pairs or, for 0, all.
void compare(const Mesh& mesh, const Type& type, const LinkCosts& costs, int pairs, bool with_sums = false) {
  const Exhaustive oracle(mesh, type, costs, with_sums);
  Resharder resharder(mesh, costs);
  const auto count = static_cast<int64_t>(oracle.states().size());
  const auto check = [&](size_t from, size_t to, double expected) {
    const Sharding a = sharding_of(oracle.states()[from]), b = sharding_of(oracle.states()[to]);
    const auto& path = resharder.path(type, a, b);
    expect_leads(path, type, a, b, mesh, costs);
    ASSERT_NEAR(path.cost, expected, 1e-6 * (1 + path.cost)) << print(type, a, mesh) << " to " << print(type, b, mesh);
  };
  const uint64_t key = random_key(1, print(mesh) + print(type));
  for (int i = 0; i < pairs; ++i) {
    const size_t from = random_below(key, 2 * i, 0, count), to = random_below(key, 2 * i + 1, 0, count);
    if (oracle.can(from, to)) check(from, to, oracle.cost(from, to));
    if (testing::Test::HasFatalFailure()) return;
  }
  for (int64_t from = 0; pairs == 0 && from < count; ++from) {
    const std::vector<double> expected = oracle.costs(from);
    for (int64_t to = 0; to < count; ++to) {
      if (!oracle.can(from, to)) continue;
      check(from, to, expected[to]);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Pairs of a mesh that is too large for all: more in a soak run.
int drawn_pairs() {
  const char* wanted = std::getenv("PARTITA_RESHARD_PAIRS");
  return wanted == nullptr ? 400 : std::atoi(wanted);
}

const Type k1D{DType::f32, {4096}}, k2D{DType::f32, {512, 1000}}, k3D{DType::f32, {64, 128, 240}};

const Type kTypes[] = {k1D, k2D, k3D};

TEST(Reshard, CostsWhatExhaustiveSearchFindsForAllPairs) {
  for (const Mesh& mesh : {Mesh({{"a", 2}, {"b", 2}, {"c", 2}}), Mesh({{"a", 2}, {"b", 3}}), Mesh({{"a", 12}}),
                           Mesh::undivided({{"a", 4}, {"b", 2}, {"c", 2}})}) {
    for (const Type& type : kTypes) {
      compare(mesh, type, LinkCosts::bytes(mesh), 0);
      compare(mesh, type, links(mesh), 0);
    }
  }
}

TEST(Reshard, CostsWhatExhaustiveSearchFindsOnLargerMeshes) {
  for (const Mesh& mesh :
       {Mesh({{"a", 4}, {"b", 2}, {"c", 2}}), Mesh::undivided({{"a", 2}, {"b", 4}, {"c", 8}}),
        Mesh::undivided({{"a", 8}, {"b", 16}, {"c", 8}}), Mesh::undivided({{"a", 4}, {"b", 4}, {"c", 8}, {"d", 8}})}) {
    for (const Type& type : kTypes) {
      compare(mesh, type, LinkCosts::bytes(mesh), drawn_pairs());
      compare(mesh, type, links(mesh), drawn_pairs());
    }
  }
}

// With messages that cost something: where they are free, axes that neither side uses stay away from partial values.
TEST(Reshard, CostsWhatExhaustiveSearchFindsWhileSumsAreOpen) {
  const Mesh three({{"a", 2}, {"b", 2}, {"c", 2}});
  for (const Type& type : kTypes) compare(three, type, links(three), 0, /*with_sums=*/true);
  compare(three, {DType::f32, {8}}, links(three), 0, /*with_sums=*/true);
  compare(three, {DType::f32, {4, 4}}, links(three), 0, /*with_sums=*/true);
  for (const Mesh& mesh : {Mesh({{"a", 2}, {"b", 3}}), Mesh({{"a", 12}}), Mesh({{"a", 4}, {"b", 2}, {"c", 2}}),
                           Mesh::undivided({{"a", 4}, {"b", 2}, {"c", 2}})}) {
    for (const Type& type : kTypes) compare(mesh, type, links(mesh), drawn_pairs(), /*with_sums=*/true);
  }
}

TEST(Reshard, CostsWhatExhaustiveSearchFindsOnManySubAxes) {
  const Mesh five({{"a", 2}, {"b", 2}, {"c", 8}}), six({{"a", 2}, {"b", 4}, {"c", 8}});
  compare(five, k2D, LinkCosts::bytes(five), 100);
  compare(five, k2D, links(five), 100);
  compare(six, k1D, LinkCosts::bytes(six), 100);
  compare(six, k1D, links(six), 100);
}

TEST(Reshard, ASearchThatIsTooLongStillFindsAWay) {
  const Mesh ten({{"a", 1024}});
  const LinkCosts costs = links(ten);
  Resharder resharder(ten, costs);
  const Sharding from{.dims = {{9, 1, 7}, {3, 5, 0}, {2}}}, to{.dims = {{5, 2, 8}, {6, 7, 9, 1}, {0, 4}}};
  expect_leads(resharder.path(k3D, from, to), k3D, from, to, ten, costs);
}

TEST(Reshard, QuickSearchesUseNoAxisTwice) {
  const Mesh seven({{"a", 3}, {"b", 64}});
  const Type type{DType::f32, {3072, 3072}};
  Resharder resharder(seven);
  const uint64_t key = random_key(1, "quick");
  uint64_t at = 0;
  const auto draw = [&] {
    Sharding sharding{.dims = Dims(2)};
    Axes axes{0, 1, 2, 3, 4, 5, 6};
    for (size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random_below(key, at++, 0, i)]);
    for (int axis : axes) {
      const size_t d = random_below(key, at++, 0, 3);
      if (d < 2) sharding.dims[d].push_back(axis);
    }
    return sharding;
  };
  for (int i = 0; i < 1000; ++i) {
    const Sharding from = draw(), to = draw();
    expect_leads(resharder.path(type, from, to), type, from, to, seven, LinkCosts::bytes(seven));
    if (HasFailure()) return;
  }
}

TEST(Reshard, SmallDimensionsAreNotCutTooOften) {
  const Mesh mesh({{"a", 2}, {"b", 3}});
  compare(mesh, {DType::f32, {3, 4}}, LinkCosts::bytes(mesh), 200);
  compare(mesh, {DType::f32, {2, 3, 5}}, links(mesh), 200);
}

}  // namespace
}  // namespace partita
