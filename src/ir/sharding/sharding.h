#pragma once
// Shardings of values and cuts of nodes, and the four functions that connect them with the rules.

#include <optional>

#include "ir/sharding/mesh.h"
#include "ir/sharding/rule.h"

namespace partita {

/// One entry per factor of a rule: the axes that cut it. The decision for one node.
using Cut = std::vector<Axes>;

/// Whether any axis cuts anything; also of the dimensions of a sharding.
bool is_cut(const std::vector<Axes>& cut);

/// Of a dimension that a window runs over: a rank holds the rows that its part of a factor of this size needs, some of
/// which its neighbours hold as well.
struct Halo {
  Window window;
  int64_t factor = 0;
  bool operator==(const Halo&) const = default;
};

/// For each dimension the axes that cut it, and the axes over which the value is still partial.
struct Sharding {
  std::vector<Axes> dims;
  Reduce kind = Reduce::none;
  Axes partial{};                            // sorted
  std::vector<std::optional<Halo>> halos{};  // per dimension; none at all when no dimension has one

  bool replicated() const;
  bool operator==(const Sharding&) const = default;
};

/// "f32[64{dp},128{mp.0,mp.1}] +sum{pp}"; a halo as "32{dp|s1d1k3p1n32}": stride, dilation, taps, padding and the size
/// of the factor, with a t behind them for a transposed window.
std::string print(const Type& type, const Sharding& sharding, const Mesh& mesh);
/// "n={dp} k={mp.0,mp.1}": the factors that are cut.
std::string print(const Cut& cut, const ShardingRule& rule, const Mesh& mesh);

/// Read what `print` writes; throw InvalidArgument. `parse_axes` reads "{mp.0,mp.1}". All sub-axes of an axis may be
/// given by its name, "{mp}".
Axes parse_axes(std::string_view text, const Mesh& mesh);
Cut parse_cut(std::string_view text, const ShardingRule& rule, const Mesh& mesh);
Sharding parse_sharding(std::string_view text, const Type& type, const Mesh& mesh);

/// Why a cut is not allowed, or "": an axis used twice, more parts than elements, a `whole` factor, a
/// compound dimension whose parts do not divide or whose minor factor is cut before its major one, an
/// output that would lack a factor without a reduction or be partial by two reductions.
std::string illegal(const ShardingRule& rule, const Cut& cut, const Mesh& mesh);

/// Throws InvalidArgument with that reason, which begins with `where` and names the node.
void require_legal(std::string_view where, const std::string& node, const ShardingRule& rule, const Cut& cut,
                   const Mesh& mesh);

/// Why a value cannot be cut so, or "": an axis used twice, more parts than elements.
std::string illegal(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh);

/// The axes of each dimension of an operand or result under a cut.
std::vector<Axes> dims_from_factors(const ShardingRule& rule, const Cut& cut, const TensorMap& tensor);

/// Which factors a dimension cut by `axes` cuts: axes are consumed major first while the factor
/// divides. Nothing when the axes do not fit the factors.
std::optional<std::vector<std::pair<int, Axes>>> factors_from_dims(const ShardingRule& rule, const DimMap& dim,
                                                                   const Axes& axes, const Mesh& mesh);

/// What a coordinate holds of a node: ranges of factors and of every dimension of every operand
/// (windowed ones: what it needs) and result.
Shard shard(const ShardingRule& rule, const Cut& cut, const Mesh& mesh, const std::vector<int64_t>& coordinates,
            const OpCall& call);

/// What a coordinate holds of a value.
Box local_ranges(const Type& type, const Sharding& sharding, const Mesh& mesh, const std::vector<int64_t>& coordinates);

/// Whether a coordinate is the first of those that hold its part of a value: of every part one is.
bool owns_part(const Sharding& sharding, const Mesh& mesh, const std::vector<int64_t>& coordinates);

/// How a node needs an operand: cut as its factors are, with halos where a cut factor has a window.
Sharding operand_sharding(const ShardingRule& rule, const Cut& cut, int operand);

/// True when `cut` cuts a factor that can only be cut through the op's expansion.
bool needs_expansion(const ShardingRule& rule, const Cut& cut);

/// True when a window runs over the factor in some operand or result.
bool has_window(const ShardingRule& rule, int factor);

/// True when `cut` cuts a factor that a window runs over, so that neighbours need each other's rows.
bool cuts_window(const ShardingRule& rule, const Cut& cut);

/// The cut factors that an output lacks, as partial axes and their reduction.
Sharding output_sharding(const ShardingRule& rule, const Cut& cut, int output);

}  // namespace partita
