#include "ir/sharding/move.h"

#include <algorithm>

#include "ir/sharding/axes.h"

namespace partita {
namespace {

bool starts_with(const Axes& axes, const Axes& first) {
  return axes.size() >= first.size() && std::equal(first.begin(), first.end(), axes.begin());
}

/// The dimensions in which two shardings differ.
struct Differences {
  std::vector<int> shorter, longer, others;  // the second has a prefix of the axes, more axes after them, or other axes
};

Differences differences(const Sharding& from, const Sharding& to) {
  Differences found;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d] == to.dims[d]) continue;
    const bool shorter = starts_with(from.dims[d], to.dims[d]), longer = starts_with(to.dims[d], from.dims[d]);
    (shorter ? found.shorter : longer ? found.longer : found.others).push_back(static_cast<int>(d));
  }
  return found;
}

/// Returns the axes after the first `count`.
Axes tail(const Axes& axes, size_t count) { return {axes.begin() + static_cast<int64_t>(count), axes.end()}; }

bool equal_as_sets(Axes a, Axes b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

std::optional<Move> reduction_between(const Sharding& from, const Sharding& to, const Differences& differ) {
  const Axes reduced = without(from.partial, to.partial);
  if (to.partial.size() + reduced.size() != from.partial.size()) return std::nullopt;
  if (to.kind != (to.partial.empty() ? Reduce::none : from.kind)) return std::nullopt;
  if (!differ.shorter.empty() || !differ.others.empty() || differ.longer.size() > 1) return std::nullopt;
  if (differ.longer.empty()) return Move{Collective::all_reduce, reduced, -1, -1, to};
  const int dim = differ.longer[0];
  Axes axes = tail(to.dims[dim], from.dims[dim].size());
  if (!equal_as_sets(axes, reduced)) return std::nullopt;
  return Move{Collective::reduce_scatter, std::move(axes), dim, -1, to};
}

/// Whether each dimension has the same number of parts in both.
bool keeps_parts(const Sharding& from, const Sharding& to, const Mesh& mesh) {
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (mesh.ways(from.dims[d]) != mesh.ways(to.dims[d])) return false;
  }
  return true;
}

}  // namespace

std::optional<Move> move_between(const Sharding& from, const Sharding& to, const Mesh& mesh) {
  if (!from.halos.empty() || !to.halos.empty() || from.dims.size() != to.dims.size()) return std::nullopt;
  const Differences differ = differences(from, to);
  if (from.partial != to.partial) return reduction_between(from, to, differ);
  if (from.kind != to.kind || from.dims == to.dims) return std::nullopt;
  if (differ.others.empty() && differ.shorter.size() + differ.longer.size() <= 2) {
    const bool gives = differ.shorter.size() == 1, gets = differ.longer.size() == 1;
    const int giver = gives ? differ.shorter[0] : -1, getter = gets ? differ.longer[0] : -1;
    const Axes given = gives ? tail(from.dims[giver], to.dims[giver].size()) : Axes{};
    const Axes got = gets ? tail(to.dims[getter], from.dims[getter].size()) : Axes{};
    if (gives && gets && given == got) return Move{Collective::all_to_all, given, giver, getter, to};
    if (gives && differ.longer.empty()) return Move{Collective::all_gather, given, giver, -1, to};
    if (gets && differ.shorter.empty()) return Move{Collective::slice, got, getter, -1, to};
  }
  if (!keeps_parts(from, to, mesh)) return std::nullopt;
  return Move{Collective::permute, cutting_axes(from, to), -1, -1, to};
}

bool adds_halos(const Sharding& from, const Sharding& to) {
  if (!from.halos.empty() || to.halos.size() != from.dims.size() || to.dims.size() != from.dims.size()) return false;
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d] != to.dims[d] && !(to.halos[d] && from.dims[d].empty())) return false;
  }
  return from.partial == to.partial && from.kind == to.kind;
}

Axes halo_axes(const Sharding& from, const Sharding& to) {
  Axes all;
  for (size_t d = 0; d < to.dims.size(); ++d) {
    if (to.halos[d] && from.dims[d] == to.dims[d]) append(all, to.dims[d]);
  }
  std::ranges::sort(all);
  return all;
}

Axes cutting_axes(const Sharding& from, const Sharding& to) {
  Axes all;
  for (const Sharding* sharding : {&from, &to}) {
    for (const Axes& axes : sharding->dims) append(all, without(axes, all));
  }
  std::ranges::sort(all);
  return all;
}

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

}  // namespace partita
