#pragma once
// Decides which values of a graph mixed precision rounds to 16 bits.

#include <optional>

#include "compiler/autodiff/precision.h"
#include "ir/graph/op_def.h"

namespace partita {

/// Decisions of mixed precision about the nodes and values of a graph. For a value of the forward pass it depends on
/// the forward pass alone, so a forward graph rounds as its training does.
class Roundings {
 public:
  /// `graph` has no nodes that nothing needs. The arguments must outlive the object. Throws InvalidArgument if two
  /// paths of equally many parts give a node different precisions. If the graph has a backward pass, also as
  /// `require_layers` does, and for a path that has no effect: none of its nodes is a product or has an operand that
  /// follows from one in a layer of 16 bits.
  Roundings(const Graph& graph, const OpSet& ops, const PrecisionOptions& options);

  /// Checks that each path names a forward node outside of the loss. Throws InvalidArgument with the nearest scope if
  /// not.
  void require_layers() const;
  /// Returns the 16-bit type of the layer of a node. Returns none if the layer keeps the precision of the parameters,
  /// in the loss and in updates.
  std::optional<DType> half_of(const Node& node) const;
  /// Returns which operands and results of a node are rounded: those of `OpTraits::halves` in a layer of 16 bits.
  Halves halves_of(const Node& node) const;
  /// Whether the value is a float of at least 32 bits.
  bool can_round(ValueId value) const;
  /// Whether all users of the value get it rounded.
  bool is_rounded(ValueId value) const { return is_rounded_[value]; }
  /// Whether the forward pass uses the value with all digits, and what follows the forward pass a rounded copy.
  bool is_copied(ValueId value) const { return is_copied_[value]; }

 private:
  /// Whether a scope belongs to the loss. A network that gives its loss itself lies in the scope of the loss, too:
  /// there the scope of all products does not belong to the loss.
  bool is_loss(std::string_view scope) const;
  const LayerPrecision* layer_at(const std::string& path, std::string_view scope) const;
  void find_precisions();
  void require_effects() const;
  std::vector<bool> wide_values() const;
  std::vector<bool> following_values() const;
  void round_where_products_meet(std::vector<bool>& goes_on) const;
  void find_rounded();

  const Graph& graph_;
  const OpSet& ops_;
  const PrecisionOptions& options_;
  std::string products_;                       // innermost scope of all products
  std::vector<MixedPrecision> precisions_;     // per node
  std::vector<const LayerPrecision*> layers_;  // per node: the path or scope that counts, or null
  std::vector<bool> is_rounded_, is_copied_;
};

}  // namespace partita
