#include "ir/sharding/sharding.h"

#include <algorithm>

#include "base/op_call.h"

namespace partita {

namespace {

/// Whether a dimension has two or more factors larger than 1. Its cuts must divide evenly, or neighbours would disagree
/// about a row.
bool is_compound(const ShardingRule& rule, const DimMap& dim) {
  return std::ranges::count_if(dim.factors, [&](int factor) { return rule.factors[factor].size > 1; }) > 1;
}

std::string illegal_factor(const Factor& factor, const Axes& axes, const Mesh& mesh, std::vector<bool>& used) {
  for (int axis : axes) {
    PARTITA_CHECK(axis >= 0 && axis < static_cast<int>(used.size()), "axis {} of {}", axis, used.size());
    if (used[axis]) return fmt::format("axis {} cuts two factors or one twice", mesh.axes()[axis].name);
    used[axis] = true;
  }
  if (axes.empty()) return "";
  if (factor.cutting == Cutting::whole) return fmt::format("factor {} is whole", factor.name);
  if (const int64_t ways = mesh.ways(axes); ways > factor.size) {
    return fmt::format("factor {} of {} is cut {} ways", factor.name, factor.size, ways);
  }
  return "";
}

std::string illegal_dim(const ShardingRule& rule, const Cut& cut, const Mesh& mesh, const DimMap& dim) {
  const bool compound = is_compound(rule, dim);
  int before = -1;  // the first factor that is not cut down to 1
  for (int index : dim.factors) {
    const Factor& factor = rule.factors[index];
    const int64_t ways = mesh.ways(cut[index]);
    if (!cut[index].empty() && before >= 0) {
      return fmt::format("factor {} is cut and {} before it is not cut down to 1", factor.name,
                         rule.factors[before].name);
    }
    if (compound && factor.size % ways != 0) {
      return fmt::format("factor {} of {} in a compound dimension is cut {} ways", factor.name, factor.size, ways);
    }
    if (before < 0 && ways < factor.size) before = index;
  }
  return "";
}

std::string illegal_output(const ShardingRule& rule, const Cut& cut, const TensorMap& output) {
  const Factor* first = nullptr;
  for (size_t f = 0; f < cut.size(); ++f) {
    const Factor& factor = rule.factors[f];
    // The expansion decides what happens to its factors.
    if (cut[f].empty() || factor.cutting == Cutting::expand || has_factor(output, static_cast<int>(f))) continue;
    if (factor.reduce == Reduce::none) return fmt::format("an output lacks factor {}", factor.name);
    if (first && first->reduce != factor.reduce) {
      return fmt::format("an output would be partial by {} over {} and by {} over {}", name_of(first->reduce),
                         first->name, name_of(factor.reduce), factor.name);
    }
    first = &factor;
  }
  return "";
}

}  // namespace

bool is_cut(const std::vector<Axes>& cut) {
  return std::ranges::any_of(cut, [](const Axes& axes) { return !axes.empty(); });
}

bool Sharding::replicated() const { return partial.empty() && !is_cut(dims); }

std::string illegal(const ShardingRule& rule, const Cut& cut, const Mesh& mesh) {
  PARTITA_CHECK(cut.size() == rule.factors.size(), "{} cuts of {} factors", cut.size(), rule.factors.size());
  std::vector<bool> used(mesh.axes().size(), false);
  for (size_t f = 0; f < cut.size(); ++f) {
    const std::string reason = illegal_factor(rule.factors[f], cut[f], mesh, used);
    if (!reason.empty()) return reason;
  }
  for (const auto* tensors : {&rule.inputs, &rule.outputs}) {
    for (const TensorMap& tensor : *tensors) {
      for (const DimMap& dim : tensor) {
        const std::string reason = illegal_dim(rule, cut, mesh, dim);
        if (!reason.empty()) return reason;
      }
    }
  }
  for (const TensorMap& output : rule.outputs) {
    const std::string reason = illegal_output(rule, cut, output);
    if (!reason.empty()) return reason;
  }
  return "";
}

void require_legal(std::string_view where, const std::string& node, const ShardingRule& rule, const Cut& cut,
                   const Mesh& mesh) {
  const std::string reason = illegal(rule, cut, mesh);
  if (reason.empty()) return;
  throw InvalidArgument("[{}] illegal cut of {}: {}, got '{}', expected a legal cut of {}", where, node, reason,
                        print(cut, rule, mesh), print(rule));
}

std::string illegal(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh) {
  if (dims.size() != type.shape.size()) return "another number of dimensions";
  std::vector<bool> used(mesh.axes().size(), false);
  for (size_t d = 0; d < dims.size(); ++d) {
    for (int axis : dims[d]) {
      if (used.at(axis)) return "an axis cuts two dimensions";
      used[axis] = true;
    }
    if (!dims[d].empty() && mesh.ways(dims[d]) > type.shape[d])
      return fmt::format("dimension {} has fewer elements than parts", d);
  }
  return "";
}

std::vector<Axes> dims_from_factors(const ShardingRule& rule, const Cut& cut, const TensorMap& tensor) {
  PARTITA_CHECK(cut.size() == rule.factors.size(), "{} cuts of {} factors", cut.size(), rule.factors.size());
  std::vector<Axes> dims;
  for (const DimMap& dim : tensor) {
    Axes& axes = dims.emplace_back();
    for (int factor : dim.factors) axes.insert(axes.end(), cut[factor].begin(), cut[factor].end());
  }
  return dims;
}

std::optional<std::vector<std::pair<int, Axes>>> factors_from_dims(const ShardingRule& rule, const DimMap& dim,
                                                                   const Axes& axes, const Mesh& mesh) {
  std::vector<std::pair<int, Axes>> factors;
  const bool compound = is_compound(rule, dim);
  size_t next = 0;
  for (int index : dim.factors) {
    const int64_t size = rule.factors[index].size;
    Axes taken;
    int64_t ways = 1;
    for (; next < axes.size(); ++next) {
      const int64_t more = ways * mesh.ways({axes[next]});
      if (compound ? size % more != 0 : more > size) break;
      taken.push_back(axes[next]);
      ways = more;
    }
    if (!taken.empty()) factors.emplace_back(index, std::move(taken));
    if (next == axes.size()) return factors;
    if (ways < size) return std::nullopt;
  }
  if (next < axes.size()) return std::nullopt;
  return factors;
}

namespace {

/// Returns the part of a dimension that a product of factor ranges covers or, under a window, needs. Throws
/// InternalError if it is not contiguous, as under an illegal cut, or if the factors do not make up `size`.
Range range_of(const DimMap& dim, const std::vector<Range>& factors, int64_t size) {
  if (dim.window) return required_range(*dim.window, factors[dim.factors.at(0)], size);
  Range range{0, 1, 1};
  for (int index : dim.factors) {
    const Range& factor = factors[index];
    if (range.count() == 1) {
      range.end = range.begin * factor.size + factor.end;
      range.begin = range.begin * factor.size + factor.begin;
    } else {
      PARTITA_CHECK(factor.whole(), "a factor is cut after one that is not cut down to 1");
      range.begin *= factor.size;
      range.end *= factor.size;
    }
    range.size *= factor.size;
  }
  PARTITA_CHECK(range.size == size, "a dimension of {} has factors of {}", size, range.size);
  return range;
}

std::vector<Box> ranges_of(const std::vector<TensorMap>& maps, const std::vector<Type>& types,
                           const std::vector<Range>& factors) {
  PARTITA_CHECK(maps.size() == types.size(), "{} maps of {} tensors", maps.size(), types.size());
  std::vector<Box> ranges(maps.size());
  for (size_t i = 0; i < maps.size(); ++i) {
    PARTITA_CHECK(maps[i].size() == types[i].shape.size(), "{} dimensions of {}", maps[i].size(), print(types[i]));
    for (size_t d = 0; d < maps[i].size(); ++d) {
      ranges[i].push_back(range_of(maps[i][d], factors, types[i].shape[d]));
    }
  }
  return ranges;
}

}  // namespace

Shard shard(const ShardingRule& rule, std::vector<Range> factors, const OpCall& call) {
  Shard result{.factors = std::move(factors), .inputs = {}, .outputs = {}};
  result.inputs = ranges_of(rule.inputs, call.inputs, result.factors);
  result.outputs = ranges_of(rule.outputs, call.outputs, result.factors);
  return result;
}

std::vector<Range> factor_ranges(const ShardingRule& rule, const Cut& cut, const Mesh& mesh,
                                 const std::vector<int64_t>& coordinates) {
  PARTITA_CHECK(cut.size() == rule.factors.size(), "{} cuts of {} factors", cut.size(), rule.factors.size());
  std::vector<Range> ranges;
  for (size_t f = 0; f < cut.size(); ++f) {
    ranges.push_back(chunk(rule.factors[f].size, mesh.index_on(coordinates, cut[f]), mesh.ways(cut[f])));
  }
  return ranges;
}

Box local_ranges(const Type& type, const Sharding& sharding, const Mesh& mesh,
                 const std::vector<int64_t>& coordinates) {
  PARTITA_CHECK(sharding.dims.size() == type.shape.size(), "{} axes of {}", sharding.dims.size(), print(type));
  Box ranges;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    const Axes& axes = sharding.dims[d];
    const int64_t index = mesh.index_on(coordinates, axes), ways = mesh.ways(axes);
    if (!sharding.halos.empty() && sharding.halos[d]) {
      const Halo& halo = *sharding.halos[d];
      ranges.push_back(required_range(halo.window, chunk(halo.factor, index, ways), type.shape[d]));
      continue;
    }
    ranges.push_back(chunk(type.shape[d], index, ways));
  }
  return ranges;
}

bool owns_part(const Sharding& sharding, const Mesh& mesh, const std::vector<int64_t>& coordinates) {
  std::vector<bool> cuts(mesh.axes().size(), false);
  for (const Axes& axes : sharding.dims) {
    for (int axis : axes) cuts[axis] = true;
  }
  for (size_t axis = 0; axis < cuts.size(); ++axis) {
    if (!cuts[axis] && coordinates[axis] != 0) return false;
  }
  return true;
}

Sharding operand_sharding(const ShardingRule& rule, const Cut& cut, int operand) {
  const TensorMap& map = rule.inputs.at(operand);
  Sharding sharding{.dims = dims_from_factors(rule, cut, map)};
  for (size_t d = 0; d < map.size(); ++d) {
    if (!map[d].window || sharding.dims[d].empty()) continue;
    sharding.halos.resize(map.size());
    sharding.halos[d] = Halo{*map[d].window, rule.factors[map[d].factors.at(0)].size};
  }
  return sharding;
}

bool needs_expansion(const ShardingRule& rule, const Cut& cut) {
  for (size_t f = 0; f < cut.size(); ++f) {
    if (!cut[f].empty() && rule.factors[f].cutting == Cutting::expand) return true;
  }
  return false;
}

bool has_window(const ShardingRule& rule, int factor) {
  for (const auto* maps : {&rule.inputs, &rule.outputs}) {
    for (const TensorMap& map : *maps) {
      for (const DimMap& dim : map) {
        if (dim.window && !dim.factors.empty() && dim.factors[0] == factor) return true;
      }
    }
  }
  return false;
}

bool cuts_window(const ShardingRule& rule, const Cut& cut) {
  for (size_t f = 0; f < cut.size(); ++f) {
    if (!cut[f].empty() && has_window(rule, static_cast<int>(f))) return true;
  }
  return false;
}

Sharding output_sharding(const ShardingRule& rule, const Cut& cut, int output) {
  const TensorMap& map = rule.outputs.at(output);
  Sharding sharding{.dims = dims_from_factors(rule, cut, map)};
  for (size_t f = 0; f < cut.size(); ++f) {
    const Factor& factor = rule.factors[f];
    if (cut[f].empty() || factor.reduce == Reduce::none || has_factor(map, static_cast<int>(f))) continue;
    sharding.kind = factor.reduce;
    sharding.partial.insert(sharding.partial.end(), cut[f].begin(), cut[f].end());
  }
  std::ranges::sort(sharding.partial);
  return sharding;
}

}  // namespace partita
