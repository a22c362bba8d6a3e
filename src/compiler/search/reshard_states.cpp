#include "compiler/search/reshard_states.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

#include "ir/sharding/axes.h"

namespace partita {
namespace {

constexpr double kMaxStates = 1500;
constexpr size_t kMaxListedAxes = 7;  // three bits for each, and one code for the end of a list

}  // namespace

bool ReshardStates::can_list(const Mesh& mesh, size_t dims) {
  const size_t axes = mesh.rank_axes();
  if (axes > kMaxListedAxes || (axes + dims + 1) * 3 > 64) return false;
  // For each number of cutting axes: which axes, in which order and dimensions. Others are partial or unused.
  double states = 0, chosen = 1;
  for (size_t cutting = 0; cutting <= axes; ++cutting) {
    states += chosen * std::pow(2.0, static_cast<double>(axes - cutting));
    chosen *=
        static_cast<double>(axes - cutting) / static_cast<double>(cutting + 1) * static_cast<double>(dims + cutting);
  }
  return states <= kMaxStates;
}

ReshardStates::ReshardStates(const Mesh& mesh, const LinkCosts& links, size_t dims) : mesh_(mesh), links_(links) {
  Sharding none{.dims = std::vector<Axes>(dims)};
  list(none, 0, mesh.rank_axes());
  for (size_t state = 0; state < states_.size(); ++state) {
    places_.emplace_back(code_of(states_[state]), static_cast<int>(state));
    uint32_t axes = 0;
    for (int axis : states_[state].partial) axes |= uint32_t{1} << axis;
    for (const Axes& cutting : states_[state].dims) {
      for (int axis : cutting) axes |= uint32_t{1} << axis;
    }
    axes_.push_back(axes);
  }
  std::ranges::sort(places_);
  moves_.resize(states_.size());
  for (size_t state = 0; state < states_.size(); ++state) add_moves(state);
  add_permutes();
}

/// Appends to `states_` all shardings that `sharding` becomes with the axes from `axis` on: each at any position of any
/// dimension, partial, or unused.
void ReshardStates::list(Sharding& sharding, size_t axis, size_t rank_axes) {
  if (axis == rank_axes) {
    states_.push_back(sharding);
    return;
  }
  const int own = static_cast<int>(axis);
  list(sharding, axis + 1, rank_axes);
  sharding.partial.push_back(own);
  list(sharding, axis + 1, rank_axes);
  sharding.partial.pop_back();
  for (Axes& axes : sharding.dims) {
    for (size_t at = 0; at <= axes.size(); ++at) {
      axes.insert(axes.begin() + static_cast<int64_t>(at), own);
      list(sharding, axis + 1, rank_axes);
      axes.erase(axes.begin() + static_cast<int64_t>(at));
    }
  }
}

ReshardStates::Code ReshardStates::code_of(const Sharding& sharding) {
  Code code = 1;
  const auto add = [&](const Axes& axes) {
    for (int axis : axes) code = code << 3 | static_cast<Code>(axis);
    code = code << 3 | kMaxListedAxes;
  };
  for (const Axes& axes : sharding.dims) add(axes);
  add(sharding.partial);
  return code;
}

int ReshardStates::state(const Sharding& sharding) const {
  const Code code = code_of(sharding);
  const auto found = std::ranges::lower_bound(places_, std::pair(code, 0));
  PARTITA_CHECK(found != places_.end() && found->first == code, "a sharding that is not listed");
  return found->second;
}

void ReshardStates::add_move(size_t state, Collective kind, const Axes& axes, const Sharding& result) {
  Step move{this->state(result), kind, static_cast<double>(mesh_.ways(axes)), 0, 0};
  for (int axis : axes) {
    move.step = std::max(move.step, links_.step[static_cast<size_t>(axis)]);
    move.byte = std::max(move.byte, links_.byte[static_cast<size_t>(axis)]);
  }
  moves_[state].push_back(move);
}

/// Adds the moves from a state. They are over single axes, except where several at once cost less: all_reduce and
/// all_to_all.
void ReshardStates::add_moves(size_t state) {
  const Sharding now = states_[state];
  Axes used = now.partial;
  for (const Axes& axes : now.dims) append(used, axes);
  for (const Axes& axes : subsequences(now.partial)) {
    Sharding next = now;
    next.partial = without(now.partial, axes);
    add_move(state, Collective::all_reduce, axes, next);
  }
  for (size_t d = 0; d < now.dims.size(); ++d) {
    for (int axis : now.partial) {
      Sharding next = now;
      next.partial = without(now.partial, {axis});
      next.dims[d].push_back(axis);
      add_move(state, Collective::reduce_scatter, {axis}, next);
    }
    for (int axis = 0; axis < static_cast<int>(mesh_.rank_axes()); ++axis) {
      if (contains(used, axis)) continue;
      Sharding next = now;
      next.dims[d].push_back(axis);
      add_move(state, Collective::slice, {axis}, next);
    }
    if (now.dims[d].empty()) continue;
    Sharding gathered = now;
    gathered.dims[d].pop_back();
    add_move(state, Collective::all_gather, {now.dims[d].back()}, gathered);
    for (size_t at = now.dims[d].size(); at-- > 0;) {
      const Axes tail(now.dims[d].begin() + static_cast<int64_t>(at), now.dims[d].end());
      for (size_t e = 0; e < now.dims.size(); ++e) {
        if (e == d) continue;
        Sharding next = now;
        next.dims[d].resize(at);
        append(next.dims[e], tail);
        add_move(state, Collective::all_to_all, tail, next);
      }
    }
  }
}

/// Adds permutes between all shardings that have the same number of parts in each dimension and are partial over the
/// same axes.
void ReshardStates::add_permutes() {
  std::map<std::pair<std::vector<int64_t>, Axes>, std::vector<size_t>> alike;
  for (size_t state = 0; state < states_.size(); ++state) {
    std::vector<int64_t> parts;
    for (const Axes& axes : states_[state].dims) parts.push_back(mesh_.ways(axes));
    alike[{parts, states_[state].partial}].push_back(state);
  }
  for (const auto& [parts, group] : alike) {
    for (size_t from : group) {
      for (size_t to : group) {
        if (from == to) continue;
        add_move(from, Collective::permute, cutting_axes(states_[from], states_[to]), states_[to]);
      }
    }
  }
}

std::vector<double> ReshardStates::costs_from(int start, uint32_t axes, const Type& type) const {
  std::vector<double> bytes(states_.size(), -1);  // bytes of a part; -1: too many parts for the type
  for (size_t state = 0; state < states_.size(); ++state) {
    bool fits = true;
    for (size_t d = 0; d < type.shape.size(); ++d) fits = fits && mesh_.ways(states_[state].dims[d]) <= type.shape[d];
    if (fits || static_cast<int>(state) == start) bytes[state] = local_bytes(type, states_[state].dims, mesh_);
  }
  std::vector<double> costs(states_.size(), std::numeric_limits<double>::infinity());
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> open;
  costs[static_cast<size_t>(start)] = 0;
  const bool reduces = !states_[static_cast<size_t>(start)].partial.empty();
  open.emplace(0, start);
  while (!open.empty()) {
    const auto [cost, state] = open.top();
    open.pop();
    if (cost > costs[static_cast<size_t>(state)]) continue;
    const double before = bytes[static_cast<size_t>(state)];
    for (const Step& move : moves_[static_cast<size_t>(state)]) {
      const size_t target = static_cast<size_t>(move.target);
      if (bytes[target] < 0) continue;
      const bool foreign = reduces && ((axes_[static_cast<size_t>(state)] | axes_[target]) & ~axes) != 0;
      if (foreign && move.kind != Collective::permute) continue;
      double more = 0;
      const double part = before / move.ways * move.byte;
      switch (move.kind) {
        case Collective::slice: break;
        case Collective::all_gather: more = (move.ways - 1) * (move.step + before * move.byte); break;
        case Collective::permute: more = move.step + before * move.byte; break;
        case Collective::all_reduce: more = 2 * (move.ways - 1) * (move.step + part); break;
        default: more = (move.ways - 1) * (move.step + part);
      }
      if (cost + more >= costs[target]) continue;
      costs[target] = cost + more;
      open.emplace(cost + more, move.target);
    }
  }
  return costs;
}

}  // namespace partita
