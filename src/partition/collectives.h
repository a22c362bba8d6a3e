#pragma once
// The nodes of a local graph that talk to other ranks, or keep a part of what is there.

#include "graph/op_def.h"
#include "plan/sharding.h"

namespace partita {

/// all_reduce, all_gather, reduce_scatter, slice_shard: on global types all are the identity.
struct CollectiveAttrs {
  std::vector<std::string> axes;  // names of sub-axes of the mesh
  int64_t dim = -1;               // the gathered, scattered or sliced dimension
  Reduce reduce = Reduce::none;
  std::string reason;  // "gradient", "forward", "reshard"
  static constexpr auto fields() {
    return std::tuple{field("axes", &CollectiveAttrs::axes), field("dim", &CollectiveAttrs::dim),
                      field("reduce", &CollectiveAttrs::reduce), field("reason", &CollectiveAttrs::reason)};
  }
};

bool is_collective(const Node& node);
/// The ops and the four collectives, which take one value and give it back: a local graph has both.
OpSet with_collectives(const OpSet& ops);
/// The sub-axes that a collective works over.
Axes axes_of(const Node& node, const Mesh& mesh);
/// The attributes of a collective over `axes`.
CollectiveAttrs collective(const Mesh& mesh, const Axes& axes, int64_t dim, Reduce reduce, std::string reason);

}  // namespace partita
