#pragma once
// The nodes of a local graph that communicate with other ranks, keep a part of what is there, or bring micro-batches
// together.

#include "ir/graph/op_def.h"
#include "ir/sharding/reshard.h"

namespace partita {

/// The moves of ir/sharding/reshard.h as nodes, and halo_exchange: on global types all are the identity.
struct CollectiveAttrs {
  std::vector<std::string> axes;  // names of sub-axes of the mesh
  int64_t dim = -1;               // the gathered, scattered or sliced dimension; all_to_all: the one that gets whole
  int64_t to_dim = -1;            // all_to_all: the one that is cut
  Reduce reduce = Reduce::none;
  std::string reason;  // "gradient", "forward", "reshard", "regather"
  static constexpr auto fields() {
    return std::tuple{field("axes", &CollectiveAttrs::axes), field("dim", &CollectiveAttrs::dim),
                      field("to_dim", &CollectiveAttrs::to_dim), field("reduce", &CollectiveAttrs::reduce),
                      field("reason", &CollectiveAttrs::reason)};
  }
};

/// The collective that a node is, if any. A halo_exchange adds the rows to a shard that a window needs and neighbours
/// hold; which ones is in the sharding of its result.
std::optional<Collective> collective_of(const Node& node);
inline bool is_collective(const Node& node) { return collective_of(node).has_value(); }
inline bool joins_micro_batches(const Node& node) {
  const std::optional<Collective> kind = collective_of(node);
  return kind && joins_micro_batches(*kind);
}
inline bool performs(const Node& node, Collective kind) { return collective_of(node) == kind; }
/// The ops and the collectives, which take one value and give it back: a local graph has both.
OpSet with_collectives(const OpSet& ops);
/// The sub-axes that a collective works over.
Axes axes_of(const Node& node, const Mesh& mesh);
/// The op that adds a micro-batch to a sum: add, maximum or minimum.
std::string accumulating_op(Reduce reduce);
/// The attributes of a move; `reduce` is none unless it reduces.
CollectiveAttrs collective(const Mesh& mesh, const Move& move, Reduce reduce, std::string reason);

}  // namespace partita
