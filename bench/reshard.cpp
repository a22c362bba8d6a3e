// Resharding: cost of the paths that are found against the greedy order of a known system, and the time to find them.
//   bench_reshard

#include "ir/sharding/reshard.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include "usage.h"

using namespace partita;

namespace {

using Map = std::vector<int>;  // per dimension of the tensor the named axis that cuts it, or -1
using Clock = std::chrono::steady_clock;

std::vector<Map> all_maps(int axes, int rank) {
  std::vector<Map> maps{{}};
  for (int d = 0; d < rank; ++d) {
    std::vector<Map> longer;
    for (const Map& map : maps) {
      for (int axis = -1; axis < axes; ++axis) {
        if (axis >= 0 && std::find(map.begin(), map.end(), axis) != map.end()) continue;
        longer.push_back(map);
        longer.back().push_back(axis);
      }
    }
    maps = std::move(longer);
  }
  return maps;
}

/// The greedy order: slice what is free, move a dimension by an exchange where another one holds its axis, gather what
/// is not wanted, and when nothing fits gather the first that is left. Returns the bytes that a rank receives.
class Greedy {
 public:
  Greedy(const std::vector<int64_t>& sizes, double bytes) : sizes_(sizes), bytes_(bytes) {}

  double cost(Map now, const Map& to) const {
    double total = 0;
    std::vector<bool> left(now.size(), true);
    const auto held_by = [&](int axis) {
      for (size_t d = 0; d < now.size(); ++d) {
        if (left[d] && now[d] == axis) return static_cast<int>(d);
      }
      return -1;
    };
    const auto gather = [&](size_t d) {
      total += local(now) * static_cast<double>(sizes_[now[d]] - 1);
      now[d] = -1;
    };
    const auto drop = [&] {
      bool open = false;
      for (size_t d = 0; d < now.size(); ++d) {
        left[d] = left[d] && now[d] != to[d];
        open = open || left[d];
      }
      return open;
    };
    while (drop()) {
      bool changed = false;
      for (size_t d = 0; d < now.size(); ++d) {
        if (!left[d] || now[d] >= 0 || held_by(to[d]) >= 0) continue;
        now[d] = to[d];
        changed = true;
      }
      for (bool again = drop(); again;) {
        again = false;
        for (size_t d = 0; d < now.size(); ++d) {
          if (!left[d] || now[d] >= 0) continue;
          const int from = held_by(to[d]);
          if (from < 0) continue;
          const auto n = static_cast<double>(sizes_[to[d]]);
          total += local(now) * (n - 1) / n;
          now[d] = to[d];
          now[from] = -1;
          again = changed = true;
        }
        drop();
      }
      if (changed) continue;
      for (size_t d = 0; d < now.size(); ++d) {
        if (!left[d] || now[d] < 0 || std::find(to.begin(), to.end(), now[d]) != to.end()) continue;
        gather(d);
        changed = true;
      }
      for (size_t d = 0; d < now.size() && !changed; ++d) {
        if (!left[d] || now[d] < 0) continue;
        gather(d);
        changed = true;
      }
    }
    return total;
  }

 private:
  double local(const Map& map) const {
    double bytes = bytes_;
    for (int axis : map) bytes /= axis < 0 ? 1.0 : static_cast<double>(sizes_[axis]);
    return bytes;
  }

  const std::vector<int64_t>& sizes_;
  double bytes_;
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void compare(const std::vector<int64_t>& sizes) {
  std::vector<std::pair<std::string, int64_t>> named;
  for (size_t i = 0; i < sizes.size(); ++i) named.emplace_back(std::string(1, static_cast<char>('a' + i)), sizes[i]);
  const Mesh mesh(named);
  const Type type{DType::f32, {64, 128, 256}};
  const Greedy greedy(sizes, static_cast<double>(type.bytes()));
  Resharder resharder(mesh);
  const std::vector<Map> maps = all_maps(static_cast<int>(sizes.size()), type.rank());
  std::vector<Sharding> shardings;
  for (const Map& map : maps) {
    Sharding& sharding = shardings.emplace_back();
    for (int axis : map) sharding.dims.push_back(axis < 0 ? Axes{} : mesh.find(named[axis].first));
  }
  double logs = 0, worst = 1, worse = 0;
  int64_t pairs = 0;
  const auto begin = Clock::now();
  for (size_t a = 0; a < maps.size(); ++a) {
    for (size_t b = 0; b < maps.size(); ++b) {
      const double own = resharder.path(type, shardings[a], shardings[b]).cost;
      if (own == 0) continue;
      const double ratio = greedy.cost(maps[a], maps[b]) / own;
      logs += std::log(ratio);
      worst = std::max(worst, ratio);
      worse += ratio > 1 + 1e-9;
      ++pairs;
    }
  }
  const double searching = seconds_since(begin);
  constexpr int kLookUps = 10000;
  const auto again = Clock::now();
  double sum = 0;
  for (int i = 0; i < kLookUps; ++i) {
    const size_t a = i * 7919 % maps.size(), b = i * 104729 % maps.size();
    sum += resharder.path(type, shardings[a], shardings[b]).cost;
  }
  std::cout << fmt::format(
      "{}: {} pairs that move, greedy costs {:.2f}x in the geometric mean, {:.0f} % cost more, at most {:.1f}x; "
      "{:.2f} ms to find a path, {} look-ups in {:.3f} s ({:.0f} MB)\n",
      print(mesh), pairs, std::exp(logs / static_cast<double>(pairs)), 100 * worse / static_cast<double>(pairs), worst,
      1e3 * searching / static_cast<double>(maps.size() * maps.size()), kLookUps, seconds_since(again), sum / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (partita::asks_for_help(argc, argv, "")) return 0;
  compare({2, 2, 2});
  compare({4, 2, 2});
  compare({2, 4, 8});
  compare({32, 32});
}
