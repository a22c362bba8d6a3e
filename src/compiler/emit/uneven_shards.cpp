#include "compiler/emit/uneven_shards.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "compiler/emit/emit_collective.h"
#include "compiler/emit/padded_values.h"
#include "ir/ops/emission.h"

namespace partita {
namespace {

/// Whether shards of a value differ in size along a dimension.
bool is_padded_along(const LocalGraph& local, ValueId value, size_t dim) {
  const Sharding& sharding = local.shardings[value];
  const bool has_halo = !sharding.halos.empty() && sharding.halos[dim];
  return has_halo || local.graph.type(value).shape[dim] % local.mesh.ways(sharding.dims[dim]) != 0;
}

/// The dimension of an operand in which it has padding to replace.
struct Masked {
  size_t operand = 0, dim = 0;
  Reduce reduce = Reduce::none;  // how the node combines the elements along it
};

/// Returns the dimension of a tensor that a factor alone has, without a window; none if there is no such dimension.
/// `is_plain` becomes false if the factor is elsewhere in the tensor.
std::optional<size_t> dim_of(const TensorMap& tensor, int factor, bool& is_plain) {
  std::optional<size_t> found;
  for (size_t d = 0; d < tensor.size(); ++d) {
    if (std::ranges::find(tensor[d].factors, factor) == tensor[d].factors.end()) continue;
    if (found || tensor[d].factors.size() != 1 || tensor[d].window) is_plain = false;
    found = d;
  }
  return found;
}

/// Returns `x` with the identity of a reduction in place of its padding along a dimension. `counts`: own elements
/// there, by rank.
Hlo emit_masked(HloBody& body, const Hlo& x, size_t dim, const std::vector<int64_t>& counts, Reduce reduce) {
  const EmitCall call = call_in(body);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double identity = reduce == Reduce::sum ? 0 : reduce == Reduce::max ? -kInfinity : kInfinity;
  const Type places{DType::i32, x.type.shape};
  const Hlo place = hlo_iota(call, static_cast<int64_t>(dim), places);
  const Hlo is_own = call.compare("LT", place, call.broadcast(emit_by_rank(body, counts), x.type.shape));
  Hlo masked = call.select(is_own, x, call.splat(identity, x.type));
  masked.half = x.half;
  return masked;
}

/// How the padding of a node's operands stays out of its results' own elements.
class PaddingOfNode {
 public:
  explicit PaddingOfNode(const ShardedNode& node)
      : local_(node.local), node_(node), rule_(node.rules[node.id]), cut_(local_.cuts[node.id]) {
    for (size_t f = 0; f < cut_.size(); ++f) add_factor(static_cast<int>(f));
    is_plain_ = is_plain_ && has_padding_in_factors_alone();
  }

  /// Whether the node may be written on padded operands, with `masked` replaced.
  bool is_plain() const { return is_plain_; }
  /// Returns the operands with numbers that change no result in place of padding. Where these are zeros, `inputs` has
  /// them afterwards.
  std::vector<Hlo> masked(HloBody& body, std::vector<Hlo>& inputs) const {
    std::vector<Hlo> masked = inputs;
    for (const Masked& one : masked_) {
      std::vector<int64_t> counts;
      for (const std::vector<int64_t>& rank : node_.ranks) {
        counts.push_back(local_.type(node_.inputs[one.operand], rank).shape[one.dim]);
      }
      masked[one.operand] = emit_masked(body, masked[one.operand], one.dim, counts, one.reduce);
      if (one.reduce == Reduce::sum) inputs[one.operand] = masked[one.operand];
    }
    return masked;
  }

 private:
  void add_factor(int factor) {
    const Factor& own = rule_.factors[factor];
    if (own.size % local_.mesh.ways(cut_[factor]) == 0) return;
    uneven_.push_back(factor);
    const auto in_results = std::ranges::count_if(
        rule_.outputs, [&](const TensorMap& output) { return dim_of(output, factor, is_plain_).has_value(); });
    std::vector<size_t> held;
    std::vector<Masked> masked;
    for (size_t i = 0; i < rule_.inputs.size(); ++i) {
      const std::optional<size_t> dim = dim_of(rule_.inputs[i], factor, is_plain_);
      if (!dim) continue;
      held.push_back(i);
      masked.push_back({i, *dim, own.reduce});
    }
    if (in_results == static_cast<int64_t>(rule_.outputs.size())) return;
    const bool can_mask =
        own.reduce == Reduce::sum ? is_linear_in(held) : held.size() == 1 && is_extreme_of(held[0], own.reduce);
    is_plain_ = is_plain_ && can_mask && in_results == 0;
    masked_.insert(masked_.end(), masked.begin(), masked.end());
  }

  /// Whether zeros in operands `held` add nothing to a sum: the op is linear in some of them, and the others are
  /// numbers of rows, which only say where an element goes.
  bool is_linear_in(const std::vector<size_t>& held) const {
    const auto is_held = [&](int operand) {
      return std::ranges::find(held, static_cast<size_t>(operand)) != held.end();
    };
    const auto is_linear = [&](size_t operand) {
      return std::ranges::any_of(rule_.linear, [&](const Linear& group) {
        return group.kinds.sum && std::ranges::all_of(group.operands, is_held) &&
               std::ranges::find(group.operands, static_cast<int>(operand)) != group.operands.end();
      });
    };
    const auto is_harmless = [&](size_t operand) {
      const DType dtype = local_.graph.type(node_.inputs[operand]).dtype;
      return is_linear(operand) || dtype == DType::i32 || dtype == DType::i64;
    };
    return std::ranges::any_of(held, is_linear) && std::ranges::all_of(held, is_harmless);
  }

  /// Whether the result is the largest, or smallest, element of an operand of floats: these have infinities.
  bool is_extreme_of(size_t operand, Reduce reduce) const {
    return is_float(local_.graph.type(node_.inputs[operand]).dtype) &&
           std::ranges::any_of(rule_.linear, [&](const Linear& group) {
             return group.kinds.has(reduce) && group.operands == std::vector{static_cast<int>(operand)};
           });
  }

  bool has_padding_in_factors_alone() const {
    const auto explained = [&](ValueId value, const TensorMap& tensor) {
      for (size_t d = 0; d < tensor.size(); ++d) {
        if (!is_padded_along(local_, value, d)) continue;
        const auto& factors = tensor[d].factors;
        if (factors.size() != 1 || std::ranges::find(uneven_, factors[0]) == uneven_.end()) return false;
      }
      return true;
    };
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!explained(node_.inputs[i], rule_.inputs[i])) return false;
    }
    for (size_t k = 0; k < node_.outputs.size(); ++k) {
      if (!explained(node_.outputs[k], rule_.outputs[k])) return false;
    }
    return true;
  }

  const LocalGraph& local_;
  const ShardedNode& node_;
  const ShardingRule& rule_;
  const Cut& cut_;
  std::vector<int> uneven_;  // cut factors whose parts differ
  std::vector<Masked> masked_;
  bool is_plain_ = true;
};

/// The attributes of a node on the ranks that run a program.
class AttrsOfRanks {
 public:
  explicit AttrsOfRanks(const ShardedNode& node) {
    const auto& take_place = node.rules.op(node.id).traits.take_place;
    std::set<std::string> texts;
    for (const std::vector<int64_t>& rank : node.ranks) {
      own_.push_back(node.local.attrs(node.id, rank, node.rules));
      rest_ = own_.back();
      if (node.can_share && take_place) begins_.push_back(take_place(rest_));
      texts.insert(rest_.print());
    }
    are_shared_ = texts.size() == 1;
  }

  const Attrs& of(size_t replica) const { return own_[replica]; }
  /// Whether they differ in no more than where shards begin, and in sizes.
  bool are_shared() const { return are_shared_; }
  /// Writes the node for all ranks, with where shards begin as data if they differ in that.
  std::vector<Hlo> emit_shared(HloBody& body, const std::vector<Hlo>& inputs, const std::vector<Type>& outputs,
                               const EmitShard& emit) const {
    std::vector<Hlo> data;
    const bool differ = std::ranges::any_of(begins_, [&](const auto& begins) { return begins != begins_[0]; });
    for (size_t k = 0; differ && k < begins_[0].size(); ++k) {
      std::vector<int64_t> by_rank;
      for (const std::vector<int64_t>& begins : begins_) by_rank.push_back(begins.at(k));
      data.push_back(emit_by_rank(body, by_rank, DType::i64));
    }
    return differ ? emit({body, rest_, inputs, outputs, &data}) : emit({body, own_[0], inputs, outputs});
  }

 private:
  std::vector<Attrs> own_;
  Attrs rest_;                                // without where the shard begins, and its sizes
  std::vector<std::vector<int64_t>> begins_;  // by rank, for ops that take them
  bool are_shared_ = false;
};

std::string print_types(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) text += " " + print(type);
  return text;
}

std::vector<Type> types_of(const LocalGraph& local, const std::vector<ValueId>& values,
                           const std::vector<int64_t>& coordinates) {
  std::vector<Type> types;
  for (const ValueId value : values) types.push_back(local.type(value, coordinates));
  return types;
}

std::vector<Type> largest_of(const LocalGraph& local, const std::vector<ValueId>& values) {
  std::vector<Type> types;
  for (const ValueId value : values) types.push_back(local.largest(value));
  return types;
}

std::vector<Hlo> without_padding(HloBody& body, const std::vector<Hlo>& values, const std::vector<Type>& types) {
  std::vector<Hlo> cut;
  for (size_t i = 0; i < values.size(); ++i) cut.push_back(emit_cut(body, values[i], types[i].shape));
  return cut;
}

}  // namespace

bool is_padded(const LocalGraph& local, ValueId value) {
  for (size_t d = 0; d < local.shardings[value].dims.size(); ++d) {
    if (is_padded_along(local, value, d)) return true;
  }
  return false;
}

std::vector<Hlo> emit_on_shards(HloBody& body, const ShardedNode& node, std::vector<Hlo>& inputs,
                                const EmitShard& emit) {
  const LocalGraph& local = node.local;
  const auto pads = [&](ValueId value) { return is_padded(local, value); };
  const bool has_padding = std::ranges::any_of(node.inputs, pads) || std::ranges::any_of(node.outputs, pads);
  const std::vector<Type> largest = largest_of(local, node.outputs);
  const AttrsOfRanks attrs(node);
  if (attrs.are_shared()) {
    const std::optional<PaddingOfNode> padding = has_padding ? std::optional<PaddingOfNode>(node) : std::nullopt;
    if (!padding || padding->is_plain()) {
      std::vector<Hlo> given = inputs;
      if (padding) given = padding->masked(body, inputs);
      return attrs.emit_shared(body, given, largest, emit);
    }
  }
  RankBranches branches;
  for (size_t i = 0; i < node.ranks.size(); ++i) {
    const Attrs& own = attrs.of(i);
    const std::vector<Type> given = types_of(local, node.inputs, node.ranks[i]),
                            made = types_of(local, node.outputs, node.ranks[i]);
    const std::string text = own.print() + (has_padding ? print_types(given) + print_types(made) : "");
    branches.add(text, [&, given, made](HloBody& inner) {
      const std::vector<Hlo> cut = without_padding(inner, inputs, given);
      std::vector<Hlo> results = emit({inner, own, cut, made});
      for (size_t k = 0; k < results.size(); ++k) results[k] = emit_extended(inner, results[k], largest[k].shape);
      return results;
    });
  }
  return branches.choose(body);
}

Hlo emit_without_padding(HloBody& body, const ShardedNode& node, const Hlo& x, size_t operand,
                         const std::function<Hlo(HloBody&, const Hlo&)>& emit) {
  RankBranches branches;
  for (const std::vector<int64_t>& rank : node.ranks) {
    const Type type = node.local.type(node.inputs[operand], rank);
    branches.add(print(type),
                 [&, type](HloBody& inner) { return std::vector{emit(inner, emit_cut(inner, x, type.shape))}; });
  }
  return branches.choose(body)[0];
}

}  // namespace partita
