#pragma once
// Nodes of a local graph that communicate with other ranks, keep a part of their operand, or join micro-batches.

#include "compiler/partition/resharded_graph.h"
#include "ir/graph/op_def.h"
#include "ir/sharding/reshard.h"

namespace partita {

/// Attributes of the moves of ir/sharding/move.h as nodes, and of halo_exchange. On global types all of these nodes are
/// the identity.
struct CollectiveAttrs {
  std::vector<std::string> axes;  // names of the mesh's sub-axes that it works over
  int64_t dim = -1;               // dimension that is gathered, scattered or sliced; all_to_all: that is gathered
  int64_t to_dim = -1;            // all_to_all: dimension that is scattered
  Reduce reduce = Reduce::none;
  std::string reason;  // "gradient", "forward", "reshard", "regather"
  /// bf16: element type in which a reduction of f32 is sent. Each rank rounds its part once, parts are added in f32 in
  /// the order of the group, and the sum is rounded once. None: the type of the operand.
  std::optional<DType> wire = std::nullopt;
  static constexpr auto fields() {
    return std::tuple{field("axes", &CollectiveAttrs::axes),     field("dim", &CollectiveAttrs::dim),
                      field("to_dim", &CollectiveAttrs::to_dim), field("reduce", &CollectiveAttrs::reduce),
                      field("reason", &CollectiveAttrs::reason), field("wire", &CollectiveAttrs::wire)};
  }
};

/// Returns the collective that a node performs; none if its op is no collective. A halo_exchange adds to a shard the
/// rows of its neighbours that a window needs; the sharding of its result says which.
std::optional<Collective> collective_of(const Node& node);
inline bool is_collective(const Node& node) { return collective_of(node).has_value(); }
/// Whether the node gathers a state anew in each phase that uses it, so that the whole one needs no memory in between.
inline bool is_regather(const Node& node) {
  return is_collective(node) && node.attrs.as<CollectiveAttrs>().reason == kRegather;
}
inline bool joins_micro_batches(const Node& node) {
  const std::optional<Collective> kind = collective_of(node);
  return kind && joins_micro_batches(*kind);
}
inline bool performs(const Node& node, Collective kind) { return collective_of(node) == kind; }
/// Returns the sub-axes that a collective works over; `node` must be one. Throws InvalidArgument if the mesh lacks one
/// of them.
Axes axes_of(const Node& node, const Mesh& mesh);
/// Returns the name of the op that adds a micro-batch to an accumulated value: "add", "maximum" or "minimum". `reduce`
/// must not be none.
std::string accumulating_op(Reduce reduce);
/// Returns the bytes that a rank sends of a buffer, which holds the operand of a collective and may be padded.
int64_t wire_bytes(int64_t buffer_bytes, DType dtype, std::optional<DType> wire);
/// Returns the attributes of the collective that performs a move. `reduce` must be none unless the move reduces.
CollectiveAttrs collective(const Mesh& mesh, const Move& move, Reduce reduce, std::string reason);

}  // namespace partita
