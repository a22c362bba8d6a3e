#pragma once
// Shardings of values and cuts of nodes, and the functions that connect them through rules.

#include <optional>

#include "ir/sharding/mesh.h"
#include "ir/sharding/rule.h"

namespace partita {

/// The decision for one node: per factor of its rule, the axes that cut it.
using Cut = std::vector<Axes>;

/// Whether any axis cuts anything. Also takes the dimensions of a sharding.
bool is_cut(const std::vector<Axes>& cut);

/// Marks a dimension under a window: each rank holds the rows that its part of a factor of size `factor` needs, some of
/// which its neighbours hold too.
struct Halo {
  Window window;
  int64_t factor = 0;
  bool operator==(const Halo&) const = default;
};

/// Sharding of a value: the axes that cut each dimension, and the axes over which the value is still partial.
struct Sharding {
  std::vector<Axes> dims;
  /// Reduction that completes the partial value; none if it is not partial.
  Reduce kind = Reduce::none;
  Axes partial{};                            // sorted
  std::vector<std::optional<Halo>> halos{};  // per dimension; empty if no dimension has one

  /// Whether the value is neither cut nor partial.
  bool replicated() const;
  bool operator==(const Sharding&) const = default;
};

/// Returns the type with its sharding: "f32[64{dp},128{mp.0,mp.1}] +sum{pp}". A halo prints as "32{dp|s1d1k3p1n32}":
/// stride, dilation, taps, padding and the size of the factor, followed by t for a transposed window.
std::string print(const Type& type, const Sharding& sharding, const Mesh& mesh);
/// Returns the factors that are cut: "n={dp} k={mp.0,mp.1}".
std::string print(const Cut& cut, const ShardingRule& rule, const Mesh& mesh);

/// Returns the axes of each dimension: "{dp} {}".
std::string print_dims(const std::vector<Axes>& dims, const Mesh& mesh);

/// Parse what `print` and `print_dims` write. `parse_axes` reads "{mp.0,mp.1}". The name of an axis stands for all its
/// sub-axes: "{mp}". Throw InvalidArgument for other texts and unknown axes. `parse_cut` does not check that the cut is
/// legal.
Axes parse_axes(std::string_view text, const Mesh& mesh);
std::vector<Axes> parse_dims(std::string_view text, const Mesh& mesh);
Cut parse_cut(std::string_view text, const ShardingRule& rule, const Mesh& mesh);

/// Returns why a cut is not allowed, or "" if it is. Reasons: an axis used twice, more parts than elements, a `whole`
/// factor, a compound dimension whose parts do not divide or whose minor factor is cut before its major one, an output
/// that would lack a factor without a reduction or be partial by two reductions. Throws InternalError unless the cut
/// has one entry per factor.
std::string illegal(const ShardingRule& rule, const Cut& cut, const Mesh& mesh);

/// Checks that the cut is allowed. Throws InvalidArgument, which begins with "[where]" and names the node and the
/// reason of `illegal`, otherwise.
void require_legal(std::string_view where, const std::string& node, const ShardingRule& rule, const Cut& cut,
                   const Mesh& mesh);

/// Returns why a value cannot be cut by `dims`, or "" if it can. Reasons: another number of dimensions, an axis used
/// twice, more parts than elements.
std::string illegal(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh);

/// Returns the axes of each dimension of an operand or result under a cut. Throws InternalError unless the cut has one
/// entry per factor.
std::vector<Axes> dims_from_factors(const ShardingRule& rule, const Cut& cut, const TensorMap& tensor);

/// Returns the factors that are cut if a dimension is cut by `axes`, with their axes. The factors take the axes in
/// order, major first: the only one while it has as many values as parts, one of several while the parts divide it.
/// Returns nothing if the axes do not fit the factors.
std::optional<std::vector<std::pair<int, Axes>>> factors_from_dims(const ShardingRule& rule, const DimMap& dim,
                                                                   const Axes& axes, const Mesh& mesh);

/// Returns what a node with these ranges of its factors has of every dimension of every operand and result. A windowed
/// dimension has the range that it needs. Throws InternalError if a part is not contiguous, or the rule is for other
/// types.
Shard shard(const ShardingRule& rule, std::vector<Range> factors, const OpCall& call);
/// Returns the ranges of the factors of a node that the rank at `coordinates` computes.
std::vector<Range> factor_ranges(const ShardingRule& rule, const Cut& cut, const Mesh& mesh,
                                 const std::vector<int64_t>& coordinates);
/// Returns what the rank at `coordinates` holds of a node.
inline Shard shard(const ShardingRule& rule, const Cut& cut, const Mesh& mesh, const std::vector<int64_t>& coordinates,
                   const OpCall& call) {
  return shard(rule, factor_ranges(rule, cut, mesh, coordinates), call);
}

/// Returns what the rank at `coordinates` holds of a value, halos included. Throws InternalError for a sharding of
/// another number of dimensions.
Box local_ranges(const Type& type, const Sharding& sharding, const Mesh& mesh, const std::vector<int64_t>& coordinates);

/// Whether the coordinates are the first of those that hold the same part of a value. Exactly one coordinate owns each
/// part.
bool owns_part(const Sharding& sharding, const Mesh& mesh, const std::vector<int64_t>& coordinates);

/// Returns how a node needs an operand: cut as its factors are, with halos where a cut factor has a window.
Sharding operand_sharding(const ShardingRule& rule, const Cut& cut, int operand);

/// Whether `cut` cuts a factor that can only be cut through the op's expansion.
bool needs_expansion(const ShardingRule& rule, const Cut& cut);

/// Whether a window runs over the factor in some operand or result.
bool has_window(const ShardingRule& rule, int factor);

/// Whether `cut` cuts a factor under a window, so that neighbours need each other's rows.
bool cuts_window(const ShardingRule& rule, const Cut& cut);

/// Returns how the cut leaves an output. It is partial over the axes of the cut factors that it lacks.
Sharding output_sharding(const ShardingRule& rule, const Cut& cut, int output);

}  // namespace partita
