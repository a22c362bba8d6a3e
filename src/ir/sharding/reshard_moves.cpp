#include "ir/sharding/reshard_moves.h"

#include <algorithm>

#include "ir/sharding/axes.h"
#include "ir/sharding/reshard_bound.h"

namespace partita {
std::vector<Move> ReshardMoves::from(const Sharding& now, double paid, double limit) {
  moves_.clear();
  add_slices(now);
  add_gathers(now);
  add_reductions(now);
  add_permutes(now, paid, limit);
  count_ += static_cast<int64_t>(moves_.size());
  return std::move(moves_);
}

void ReshardMoves::add(Collective kind, Axes axes, int dim, int to_dim, Sharding result) {
  if (result.partial.empty()) result.kind = Reduce::none;
  moves_.push_back({kind, std::move(axes), dim, to_dim, std::move(result)});
}

bool ReshardMoves::fits(const std::vector<Axes>& dims, int dim) const {
  return ends_.mesh.ways(dims[dim]) <= ends_.type.shape[dim];
}

void ReshardMoves::add_slices(const Sharding& now) {
  Axes used = now.partial;
  for (const Axes& axes : now.dims) append(used, axes);
  for (const Axes& run : runs_) {
    if (any_of(run, used)) continue;
    for (int d = 0; d < static_cast<int>(now.dims.size()); ++d) {
      Sharding cut = now;
      append(cut.dims[d], run);
      if (fits(cut.dims, d)) add(Collective::slice, run, d, -1, std::move(cut));
    }
  }
}

/// Adds all-gathers and all-to-alls: the last runs of a dimension, gathered or moved to another dimension.
void ReshardMoves::add_gathers(const Sharding& now) {
  const int rank = static_cast<int>(now.dims.size());
  for (int d = 0; d < rank; ++d) {
    for (size_t at = now.dims[d].size(); at-- > 0;) {
      if (run_at(runs_, now.dims[d], at) == nullptr) continue;
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
}

/// Adds all-reduces and reduce-scatters over axes that the value is partial over and the target is not.
void ReshardMoves::add_reductions(const Sharding& now) {
  const Axes reducible = without(now.partial, ends_.to.partial);
  if (reducible.empty()) return;
  for (const Axes& axes : exact_ ? subsequences(reducible) : std::vector<Axes>{reducible}) {
    Sharding reduced = now;
    reduced.partial = without(now.partial, axes);
    add(Collective::all_reduce, axes, -1, -1, std::move(reduced));
  }
  for (const Axes& run : runs_) {
    if (!without(run, reducible).empty()) continue;
    for (int d = 0; d < static_cast<int>(now.dims.size()); ++d) {
      Sharding scattered = now;
      scattered.partial = without(now.partial, run);
      append(scattered.dims[d], run);
      if (fits(scattered.dims, d)) add(Collective::reduce_scatter, run, d, -1, std::move(scattered));
    }
  }
}

void ReshardMoves::add_permutes(const Sharding& now, double paid, double limit) {
  std::vector<Sharding> results;
  if (!exact_) {
    results.push_back(permuted(now));
  } else {
    const double least = local_bytes(ends_.type, now.dims, ends_.mesh) * cheapest_byte(ends_.costs);
    if (paid + least < limit && permutes_cheaper(now, paid)) results = permutations(now);
  }
  for (Sharding& next : results) {
    if (next.dims == now.dims) continue;
    Axes all;
    for (const Axes& axes : now.dims) append(all, axes);
    for (const Axes& axes : next.dims) append(all, without(axes, all));
    std::ranges::sort(all);
    add(Collective::permute, std::move(all), -1, -1, std::move(next));
  }
}

/// Whether permutes from this sharding are worth making. Shardings with the same parts and axes permute to others at
/// the same cost, so only the cheapest of them needs to. Records `paid` as their lowest cost if so.
bool ReshardMoves::permutes_cheaper(const Sharding& now, double paid) {
  std::string key, axes(ends_.mesh.axes().size(), '-');
  for (const Axes& dim : now.dims) {
    key += fmt::format("{},", ends_.mesh.ways(dim));
    for (int axis : dim) axes[axis] = '+';
  }
  for (int axis : now.partial) axes[axis] = '*';
  const auto [cheapest, fresh] = permuted_at_.try_emplace(key + axes, paid);
  if (!fresh && cheapest->second <= paid) return false;
  cheapest->second = paid;
  return true;
}

/// Returns the permutation nearest to the target: each dimension is cut by the axes it should end up with, as far as
/// they fit its number of parts, then by axes it has now, then by any others. Returns `now` if these do not make up the
/// parts of every dimension.
Sharding ReshardMoves::permuted(const Sharding& now) const {
  Sharding permutation = now;
  Axes taken = now.partial;
  std::vector<int64_t> left;
  const auto take = [&](size_t d, const Axes& run) {  // the whole run or nothing
    if (left[d] % ends_.mesh.ways(run) != 0 || any_of(run, taken)) return false;
    left[d] /= ends_.mesh.ways(run);
    append(permutation.dims[d], run);
    append(taken, run);
    return true;
  };
  for (size_t d = 0; d < now.dims.size(); ++d) {
    left.push_back(ends_.mesh.ways(now.dims[d]));
    permutation.dims[d].clear();
    const Axes& wanted = ends_.to.dims[d];
    for (size_t at = 0; at < wanted.size();) {
      const Axes* run = run_at(runs_, wanted, at);
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
  return std::ranges::all_of(left, [](int64_t ways) { return ways == 1; }) ? permutation : now;
}

/// Returns all shardings with the same number of parts per dimension, with runs of single axes, up to the search's
/// remaining limit of moves.
std::vector<Sharding> ReshardMoves::permutations(const Sharding& now) const {
  std::vector<Sharding> result;
  Sharding permutation = now;
  Axes taken = now.partial;
  for (Axes& axes : permutation.dims) axes.clear();
  std::vector<int64_t> left;
  for (const Axes& axes : now.dims) left.push_back(ends_.mesh.ways(axes));
  const auto fill = [&](const auto& self, size_t d) -> void {
    while (d < left.size() && left[d] == 1) ++d;
    if (static_cast<int64_t>(result.size()) > kMaxMoves - count_) return;
    if (d == left.size()) {
      result.push_back(permutation);
      return;
    }
    for (const Axes& run : runs_) {
      const int a = run.front();
      const int64_t size = ends_.mesh.ways(run);
      if (left[d] % size != 0 || contains(taken, a)) continue;
      left[d] /= size;
      taken.push_back(a);
      permutation.dims[d].push_back(a);
      self(self, d);
      permutation.dims[d].pop_back();
      taken.pop_back();
      left[d] *= size;
    }
  };
  fill(fill, 0);
  return result;
}

}  // namespace partita
