#include "ir/sharding/strategy.h"

#include <algorithm>

#include "base/op_call.h"
#include "ir/sharding/strategy_parts.h"

namespace partita {
namespace {

std::string print_order(const std::vector<int>& rank_list) {
  return rank_list.empty() ? "ascending order" : fmt::format("({})", fmt::join(rank_list, ","));
}

/// Places the parts of an annotation on the axes of a mesh. Throws InvalidArgument if the annotation does not fit the
/// node or the mesh.
class Cutter {
 public:
  Cutter(const CutTarget& target, const Mesh& mesh) : target_(target), rule_(target.rule), mesh_(mesh) {}

  AnnotatedCut cut(const ShardingAnnotation& annotation) {
    const FactorParts wanted = read_strategy(annotation, target_, mesh_);
    AnnotatedCut result;
    result.cut = annotation.named() ? named_cut(annotation) : place(annotation.inputs, wanted);
    if (const std::string reason = illegal(rule_, result.cut, mesh_); !reason.empty()) {
      refuse_cut(target_, "the cuts do not fit together, " + reason, partita::print(annotation), "another strategy");
    }
    for (size_t k = 0; k < annotation.outputs.size(); ++k) {
      result.results.push_back(annotation.named() ? named_dims(annotation, annotation.output_names[k])
                                                  : spread_result(k, annotation.outputs[k], result.cut));
      const std::string reason = illegal(target_.outputs[k], result.results.back(), mesh_);
      if (!reason.empty()) {
        refuse_cut(
            target_,
            fmt::format("result {}, {}, cannot have this layout: {}", k, partita::print(target_.outputs[k]), reason),
            partita::print(annotation), "another layout of it");
      }
    }
    return result;
  }

 private:
  /// Returns the axes of each dimension of a result: none for 1 part, else those of the cut, then those that the result
  /// is partial over whose sizes fit what `parts` still asks for. Throws InvalidArgument for more parts than elements
  /// and for parts that cannot be reached so.
  std::vector<Axes> spread_result(size_t result, const std::vector<int64_t>& parts, const Cut& cut) const {
    const Sharding own = output_sharding(rule_, cut, static_cast<int>(result));
    std::vector<Axes> dims = own.dims;
    Axes free = own.partial;
    for (size_t d = 0; d < parts.size(); ++d) {
      const int64_t size = target_.outputs[result].shape[d];
      if (parts[d] > size) refuse_result(result, d, parts[d], fmt::format("at most {}", size));
      if (parts[d] == 1) dims[d].clear();
      int64_t ways = mesh_.ways(dims[d]);
      for (size_t at = 0; at < free.size() && ways < parts[d];) {
        const int64_t more = ways * mesh_.ways({free[at]});
        if (parts[d] % more != 0) {
          ++at;
          continue;
        }
        dims[d].push_back(free[at]);
        free.erase(free.begin() + static_cast<int64_t>(at));
        ways = more;
      }
      if (ways != parts[d]) {
        refuse_result(
            result, d, parts[d],
            mesh_.ways(own.dims[d]) == 1
                ? "1, or parts of the indices that are summed over"
                : fmt::format("1, {}, as the cut leaves it, or that times parts of the indices that are summed over",
                              mesh_.ways(own.dims[d])));
      }
    }
    return dims;
  }

  [[noreturn]] void refuse_result(size_t result, size_t dim, int64_t parts, const std::string& expected) const {
    refuse_cut(target_, place_of(results_of(target_), result, dim) + " cannot have this layout",
               fmt::format("{} parts", parts), expected);
  }

  std::vector<Axes> named_dims(const ShardingAnnotation& annotation, const NamedDims& names) const {
    std::vector<Axes> found;
    try {
      found = find_axes(annotation.axes, mesh_);
      if (annotation.rank_list != mesh_.rank_list()) {
        throw InvalidArgument("the layout has another order of the ranks than the mesh, got {}, expected {}",
                              print_order(annotation.rank_list), print_order(mesh_.rank_list()));
      }
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(error.kind(), "[shard] {}: {}", target_.node, error.what());
    }
    std::vector<Axes> dims;
    for (const auto& dim : names) {
      Axes& axes = dims.emplace_back();
      for (const std::string& name : dim) {
        const auto at = std::ranges::find_if(annotation.axes, [&](const auto& a) { return a.first == name; });
        const Axes& more = found[at - annotation.axes.begin()];
        axes.insert(axes.end(), more.begin(), more.end());
      }
    }
    return dims;
  }

  Cut named_cut(const ShardingAnnotation& annotation) const {
    Cut cut(rule_.factors.size());
    std::vector<bool> known(cut.size(), false);
    const auto add = [&](const TensorMap& map, const NamedDims& names, const TensorSide& side, size_t tensor) {
      const std::vector<Axes> dims = named_dims(annotation, names);
      for (size_t d = 0; d < dims.size(); ++d) {
        const auto factors = factors_from_dims(rule_, map[d], dims[d], mesh_);
        if (!factors) {
          refuse_cut(target_, place_of(side, tensor, d) + " cannot be cut like this",
                     names[d].empty() ? "None" : fmt::format("{}", fmt::join(names[d], "+")),
                     "axes whose parts fit it");
        }
        for (int factor : map[d].factors) {
          Axes axes;
          for (const auto& [index, own] : *factors) {
            if (index == factor) axes = own;
          }
          if (known[factor] && cut[factor] != axes) {
            refuse_cut(target_, place_of(side, tensor, d) + " is cut by other axes than the same index before",
                       fmt::format("{{{}}}", mesh_.print(axes)), fmt::format("{{{}}}", mesh_.print(cut[factor])));
          }
          known[factor] = true;
          cut[factor] = axes;
        }
      }
    };
    for (size_t i = 0; i < annotation.input_names.size(); ++i)
      add(rule_.inputs[i], annotation.input_names[i], operands_of(target_), i);
    for (size_t k = 0; k < annotation.output_names.size(); ++k) {
      for (size_t d = 0; d < rule_.outputs[k].size(); ++d) {
        const std::vector<int>& factors = rule_.outputs[k][d].factors;
        if (factors.empty() || in_operand(rule_, factors[0])) continue;
        add({rule_.outputs[k][d]}, {annotation.output_names[k][d]}, results_of(target_), k);
      }
    }
    return cut;
  }

  /// Returns the cut with the wanted parts, choosing axes greedily: each sub-axis that divides what is left. This finds
  /// a set if there is one, as the sub-axes are primes; on an undivided mesh it may miss one. Throws InvalidArgument if
  /// it finds none.
  Cut place(const Strategy& strategy, const FactorParts& wanted) const {
    Cut cut(rule_.factors.size());
    std::vector<bool> used(mesh_.axes().size(), false);
    for (int index : wanted.order) {
      int64_t left = wanted.parts[index];
      for (size_t axis = 0; axis < used.size() && left > 1; ++axis) {
        const int64_t size = mesh_.axes()[axis].size;
        if (used[axis] || left % size != 0) continue;
        used[axis] = true;
        left /= size;
        cut[index].push_back(static_cast<int>(axis));
      }
      if (left > 1) {
        refuse_cut(target_, "more or other parts than the mesh has", partita::print(strategy),
                   fmt::format("numbers whose product divides {} ranks", mesh_.ranks()));
      }
    }
    return cut;
  }

  const CutTarget& target_;
  const ShardingRule& rule_;
  const Mesh& mesh_;
};

}  // namespace

Strategy strategy_of(const ShardingRule& rule, const Cut& cut, const Mesh& mesh) {
  Strategy strategy;
  for (const TensorMap& input : rule.inputs) {
    strategy.emplace_back();
    for (const Axes& axes : dims_from_factors(rule, cut, input)) strategy.back().push_back(mesh.ways(axes));
  }
  return strategy;
}

AnnotatedCut cut_of(const ShardingAnnotation& annotation, const CutTarget& target, const Mesh& mesh) {
  return Cutter(target, mesh).cut(annotation);
}

std::vector<Axes> find_axes(const std::vector<std::pair<std::string, int64_t>>& named, const Mesh& mesh) {
  std::vector<Axes> found;
  size_t next = 0;
  int64_t places = 1;
  bool fits = true;
  for (const auto& [name, size] : named) {
    Axes& axes = found.emplace_back();
    int64_t ways = 1;
    while (ways < size && next < mesh.axes().size()) {
      ways *= mesh.axes()[next].size;
      axes.push_back(static_cast<int>(next++));
    }
    fits = fits && ways == size;
    places *= size;
  }
  if (fits && next == mesh.axes().size()) return found;
  const auto print_axes = [](const auto& axes) {
    std::string text;
    for (const auto& [name, size] : axes) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, size);
    return text;
  };
  throw InvalidArgument(
      "the layout does not fit the mesh, got [{}], {} ranks, expected the {} ranks of [{}] in an order of its axes",
      print_axes(named), places, mesh.ranks(), print_axes(mesh.named()));
}

}  // namespace partita
